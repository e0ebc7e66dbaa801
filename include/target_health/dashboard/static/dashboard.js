"use strict";
(() => {
  // The viewer's own time, where a time is looked at.
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const element of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.dateTime);
    if (!Number.isNaN(moment.getTime())) {
      element.title = `${format.format(moment)} (${zone})`;
    }
  }

  // Airflow shows us in a frame that may not open its other pages: those are opened around it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest ? event.target.closest("a[data-airflow]") : null;
    if (!link || window.parent === window || event.ctrlKey || event.metaKey) return;
    try {
      const outer = window.parent.document;
      const copy = outer.createElement("a");
      copy.href = link.href;
      outer.body.append(copy);
      event.preventDefault();
      copy.click();
      copy.remove();
    } catch {
      // Another site's frame: the link stays what it is.
    }
  });

  // The newest days stand at the right end.
  for (const region of document.querySelectorAll(".heat")) region.scrollLeft = region.scrollWidth;

  // A deed takes a few seconds: say so, and take it once.
  for (const form of document.querySelectorAll("form[method=post]")) {
    form.addEventListener("submit", () => {
      const button = form.querySelector("button[type=submit]");
      button.setAttribute("aria-busy", "true");
      button.textContent = "One moment …";
      window.setTimeout(() => { button.disabled = true; }, 0);
    });
  }
})();
