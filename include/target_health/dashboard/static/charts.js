"use strict";
(() => {
  const place = document.getElementById("charts");
  if (!place) return;
  const note = place.querySelector(".chart-note");

  const VERDICTS = [
    ["ok", "ok", "--healthy"],
    ["hard_blocks", "refused", "--resisting"],
    ["challenges", "challenged", "--challenge"],
    ["soft_blocks", "soft-blocked", "--degraded"],
    ["server_errors", "server errors", "--muted-3"],
    ["client_errors", "client errors", "--muted-2"],
    ["not_found", "not found", "--muted-1"],
    ["soft_404s", "soft 404", "--muted-1"],
    ["paywalled", "paywalled", "--muted-2"],
    ["redirects", "redirects", "--muted-1"],
    ["unknown", "unknown", "--muted-3"],
  ];
  const ACTIONS = {
    slow_down: "slowed down", pause: "paused", restore: "restored a step",
    human_pause: "paused by a person", human_resume: "resumed by a person",
    human_stop: "stopped by a person", fuse: "fuse",
  };

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Plotly reads a little HTML in texts: names from logs must not become any.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const layout = (more) => ({
    margin: { l: 44, r: 12, t: 8, b: 36 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--quiet") },
    showlegend: false,
    hovermode: "x unified",
    hoverlabel: { bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--text") } },
    xaxis: {
      type: "date", gridcolor: colour("--grid"), linecolor: colour("--line"), zeroline: false,
      range: [place.dataset.start, place.dataset.end], hoverformat: "%d %b %H:%M UTC",
    },
    ...more,
    yaxis: {
      gridcolor: colour("--grid"), linecolor: colour("--line"), zeroline: false, fixedrange: true,
      ...(more.yaxis || {}),
    },
  });
  const config = { displayModeBar: false, responsive: true, displaylogo: false, staticPlot: false };
  const draw = (id, traces, more) => {
    const element = document.getElementById(id);
    element.setAttribute("role", "img");
    return window.Plotly.react(element, traces, layout(more), config);
  };
  const say = (id, text) => document.getElementById(id).setAttribute("aria-label", text);

  const bands = (data) => data.bands.map((spell) => ({
    type: "rect", xref: "x", yref: "paper", layer: "below", line: { width: 0 },
    x0: spell.start, x1: spell.end, y0: 0, y1: 1,
    fillcolor: colour(`--${spell.band}`), opacity: 0.16,
  })).concat(data.incidents.map((incident) => ({
    type: "line", xref: "x", yref: "paper", x0: incident.opened_at,
    x1: incident.closed_at || data.end, y0: 1, y1: 1,
    line: { color: colour("--resisting"), width: 4 },
  })));

  // A window's value holds from its start to its end.
  const stepped = (scores, name) => {
    const x = [];
    const y = [];
    scores.window_start.forEach((start, place) => {
      x.push(start);
      y.push(scores[name][place]);
      if (scores.window_start[place + 1] !== scores.window_end[place]) {
        x.push(scores.window_end[place]);
        y.push(scores[name][place]);
        if (place + 1 < scores.window_start.length) {
          x.push(scores.window_end[place]);
          y.push(null);
        }
      }
    });
    return { x, y };
  };

  const drawScore = (data) => {
    const scores = data.scores;
    const marked = data.actions.filter((action) => action.decided_at >= data.start);
    const at = (moment) => {
      let place = 0;
      while (place < scores.window_end.length && scores.window_end[place] <= moment) place += 1;
      const score = scores.smoothed_score[Math.max(0, place - 1)];
      return score === null || score === undefined ? 100 : score;
    };
    draw("chart-score", [
      { type: "scatter", mode: "lines", ...stepped(scores, "score"), name: "window",
        line: { color: colour("--base"), width: 1, shape: "hv" }, connectgaps: false,
        hovertemplate: "%{y:.0f}" },
      { type: "scatter", mode: "lines", x: scores.window_end, y: scores.smoothed_score, name: "smoothed",
        line: { color: colour("--accent"), width: 2.5 }, connectgaps: false, hovertemplate: "%{y:.0f}" },
      { type: "scatter", mode: "markers", name: "action", x: marked.map((action) => action.decided_at),
        y: marked.map((action) => at(action.decided_at)),
        text: marked.map((action) => plain(
          `${ACTIONS[action.kind] || action.kind}${action.applied ? "" : " (not applied)"} by ${action.decided_by}`,
        )),
        hovertemplate: "%{text}<extra></extra>",
        cliponaxis: false, marker: { symbol: "diamond", size: 10, color: colour("--panel"), line: { color: colour("--text"), width: 1.5 } } },
    ], {
      shapes: bands(data).concat([80, 50].map((limit) => ({
        type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit,
        line: { color: colour("--line"), width: 1, dash: "dot" },
      }))),
      yaxis: { range: [0, 104], tickvals: [0, 50, 80, 100] },
    });
    const known = scores.smoothed_score.filter((value) => value !== null);
    say("chart-score", known.length
      ? `Smoothed score from ${Math.round(known[0])} to ${Math.round(known[known.length - 1])}, lowest ${Math.round(Math.min(...known))}; ${marked.length} actions`
      : "No scores in this range");
  };

  const drawSignal = (id, data, now, base, isRate) => {
    const scores = data.scores;
    draw(id, [
      { type: "scatter", mode: "lines", ...stepped(scores, base), name: "its normal",
        line: { color: colour("--base"), width: 1.5, dash: "dash", shape: "hv" },
        hovertemplate: isRate ? "%{y:.1%}" : "%{y:,.0f} ms" },
      { type: "scatter", mode: "lines", ...stepped(scores, now), name: "now",
        line: { color: colour("--accent"), width: 1.5, shape: "hv" },
        hovertemplate: isRate ? "%{y:.1%}" : "%{y:,.0f} ms" },
    ], {
      margin: { l: 44, r: 8, t: 4, b: 34 },
      xaxis: { ...layout({}).xaxis, nticks: 4, tickangle: 0 },
      yaxis: isRate
        ? { tickformat: ".0%", rangemode: "tozero", range: [0, Math.max(0.05, ...scores[now].map(Number), ...scores[base].map(Number)) * 1.05], nticks: 4 }
        : { rangemode: "tozero", nticks: 4, ticksuffix: "" },
    });
    const last = scores[now][scores[now].length - 1];
    say(id, last === null || last === undefined ? "no value now" : `now ${isRate ? `${(100 * last).toFixed(1)} %` : `${Math.round(last)} ms`}`);
  };

  const drawVerdicts = (data) => {
    const verdicts = data.verdicts;
    const shown = VERDICTS.filter(([key]) => verdicts[key].some((value) => value > 0));
    draw("chart-verdicts", shown.map(([key, name, shade]) => ({
      type: "bar", x: verdicts.window_start, y: verdicts[key], name, offset: 0,
      width: verdicts.length_ms,
      marker: { color: colour(shade), line: { width: 0 } },
      customdata: verdicts[key], hovertemplate: "%{customdata:,} (%{y:.0%})",
    })), {
      barmode: "stack", barnorm: "fraction", bargap: 0.05, showlegend: true,
      legend: { orientation: "h", y: -0.22, traceorder: "normal", font: { color: colour("--quiet") } },
      margin: { l: 44, r: 12, t: 8, b: 64 },
      yaxis: { tickformat: ".0%", range: [0, 1], nticks: 5 },
    });
    say("chart-verdicts", shown.map(([key, name]) => `${name}: ${verdicts[key].reduce((sum, value) => sum + value, 0)}`).join(", ") || "no fetches");
  };

  const drawAll = (data) => {
    drawScore(data);
    for (const signal of ["hard_block", "challenge", "soft_block"]) {
      drawSignal(`chart-${signal}`, data, `${signal}_rate`, `base_${signal}_rate`, true);
    }
    drawSignal("chart-latency", data, "p95_latency_ms", "base_p95_latency_ms", false);
    drawVerdicts(data);
  };

  fetch(place.dataset.source, { credentials: "same-origin", headers: { accept: "application/json" } })
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`answer ${answer.status}`))))
    .then((data) => {
      note.textContent = "";
      place.classList.add("drawn");
      if (!data.scores.window_end.length && !data.verdicts.window_start.length) {
        note.textContent = "There is no window in this range.";
        return;
      }
      drawAll(data);
      const again = () => drawAll(data);
      window.addEventListener("themechange", again);
      window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    })
    .catch((problem) => {
      note.textContent = `The charts could not be loaded (${problem.message}); the tables below hold the same.`;
    });
})();
