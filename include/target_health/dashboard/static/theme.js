"use strict";
// Light or dark as Airflow shows itself; without a word of Airflow's, as the system does.
(() => {
  const apply = () => {
    let wanted = null;
    try {
      wanted = window.localStorage.getItem("theme");
    } catch {
      // Storage may be forbidden.
    }
    const root = document.documentElement;
    if (wanted === "light" || wanted === "dark") root.dataset.theme = wanted;
    else delete root.dataset.theme;
    window.dispatchEvent(new Event("themechange"));
  };
  apply();
  window.addEventListener("storage", (event) => {
    if (event.key === "theme" || event.key === null) apply();
  });
})();
