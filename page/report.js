/* SPDX-License-Identifier: MIT */
"use strict";
window.onerror = message => { document.documentElement.dataset.error = String(message); };
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = data.runs;
  for (const run of runs) // what all have alike stands there once
    for (const part of ["config", "environment"]) run[part] = Object.assign({}, data.common[part], run[part]);
  const byId = new Map(runs.map(run => [String(run.id), run]));
  const $ = id => document.getElementById(id);
  const known = value => value !== null && value !== undefined && value !== "";

  // ---- texts ----
  const escapes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"};
  const text = value => String(value).replace(/[&<>"']/g, c => escapes[c]);
  const digits = value => {
    const size = Math.abs(value);
    return size >= 1000 ? value.toFixed(0) : Number(value.toPrecision(4)).toString();
  };
  const scaled = (value, step, units) => {
    let at = 0;
    while (Math.abs(value) >= step && at + 1 < units.length) { value /= step; at++; }
    return digits(value) + units[at];
  };
  const shown = (name, value) => {
    if (!known(value)) return "-";
    if (typeof value !== "number") return text(value);
    if (name === "hit_ratio" && value < 0) return "-"; // rows read ahead and not used: no share of hits
    if (name === "started_unix_ns" || name === "finished_unix_ns")
      return new Date(value / 1e6).toISOString().slice(0, 19).replace("T", " ");
    if (/_ns$/.test(name)) return value < 1e6 ? digits(value / 1e3) + " us" : value < 1e9 ? digits(value / 1e6) + " ms" : digits(value / 1e9) + " s";
    if (/bytes(_per_s)?$|_bps$/.test(name))
      return scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]) + (/_per_s$/.test(name) ? "/s" : "");
    if (/_pct$/.test(name)) return value.toFixed(1) + " %";
    if (/accuracy$|ratio$|auc$|_f1$|mrr|hits_/.test(name) && Math.abs(value) <= 1) return value.toFixed(4);
    if (Number.isInteger(value) && Math.abs(value) < 1e5) return String(value);
    return scaled(value, 1000, ["", " k", " M", " G", " T"]);
  };
  const words = name => text(name.replace(/_(ns|bytes|pct)$/, "").replace(/_/g, " "));
  // Nearest rank, as fio has it and `--csv`.
  const percentile = (sorted, percent) => sorted[Math.max(0, Math.ceil(percent * sorted.length / 100) - 1)];
  const median = sorted => sorted.length % 2 ? sorted[(sorted.length - 1) / 2]
    : (sorted[sorted.length / 2 - 1] + sorted[sorted.length / 2]) / 2;
  const ascending = values => values.filter(value => typeof value === "number").sort((a, b) => a - b);
  const table = (head, rows) => '<div class="wide"><table><tr>' +
    head.map((h, i) => `<th${i ? ' class="n"' : ""}>${h}</th>`).join("") + "</tr>" +
    rows.map(row => "<tr>" + row.map((cell, i) => `<td${i ? ' class="n"' : ""}>${cell}</td>`).join("") + "</tr>").join("") +
    "</table></div>";
  const colour = at => `var(--c${at % 7})`;
  // The colours of plots/figure_series.gp: a system has the same one in every picture. Of several runs of a system, the
  // second is lighter and dashed.
  const palette = ["#999999", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255",
    "#333333", "#999933", "#332288", "#44AA99", "#8C510A", "#117733", "#AA4499", "#6A6A00"];
  const colourOf = run => run.place === null ? "var(--soft)" : `color-mix(in srgb, ${palette[run.place % 16]} var(--own), var(--text))`;
  const repeats = (list, i) => list.slice(0, i).some(run => run.place === list[i].place);
  const partOf = run => run.derived.part ? ` (${run.derived.part})` : ""; // of an epoch
  const nameOf = run => `${run.id}: ${run.label}${partOf(run)}`;

  // ---- summary: what repeats each other, with its spread ----
  const groups = new Map();
  for (const run of runs) {
    if (!groups.has(run.label)) groups.set(run.label, []);
    groups.get(run.label).push(run);
  }
  const lines = [...groups.values()].map(group => ({group, times: ascending(group.map(run => run.derived.epoch_ns))}));
  const slowest = Math.max(1, ...lines.map(line => line.times.length ? median(line.times) : 0));
  const summary = table(["series", "runs", "median epoch", "least to most", "", "hit ratio", "peak memory"], lines.map(({group, times}) => [
    `<span title="${text(group[0].caption)}">${text(group[0].label + partOf(group[0]))}</span>`, group.length,
    times.length ? shown("_ns", median(times)) : text([...new Set(group.map(run => run.run.status))].join(", ")),
    times.length > 1 ? shown("_ns", times[0]) + " to " + shown("_ns", times[times.length - 1]) : "-",
    times.length ? `<span class="bar" style="width:${(8 * median(times) / slowest).toFixed(2)}rem"></span>` : "",
    shown("hit_ratio", group[group.length - 1].derived.hit_ratio),
    shown("peak_memory_bytes", group[group.length - 1].counters.peak_memory_bytes)]));
  $("summary").innerHTML = lines.length > 40 ? `<details><summary>${lines.length} series</summary>${summary}</details>` : summary;

  // ---- the list and its filters ----
  const rows = [...document.querySelectorAll("#runs tr[data-run]")];
  const filters = [...document.querySelectorAll("#filters select")];
  for (const select of filters) {
    const values = [...new Set(runs.map(run => run.run[select.name]).filter(known))].sort();
    select.innerHTML = '<option value="">all</option>' + values.map(v => `<option>${text(v)}</option>`).join("");
  }
  const passes = run => filters.every(f => f.value === "" || String(run.run[f.name]) === f.value) &&
    $("search").value.toLowerCase().split(/\s+/).every(word => word === "" ||
      (nameOf(run) + " " + run.caption + " " + (run.run.tag || "")).toLowerCase().includes(word));
  const filter = () => {
    let count = 0;
    for (const row of rows) {
      const pass = passes(byId.get(row.dataset.run));
      row.hidden = !pass;
      count += pass ? 1 : 0;
    }
    $("count").textContent = `${count} of ${rows.length} runs`;
  };
  $("filters").addEventListener("input", filter);
  $("filters").addEventListener("submit", event => event.preventDefault());

  // ---- one run ----
  const options = runs.map(run => `<option value="${run.id}">${text(nameOf(run))}</option>`).join("");
  for (const id of ["one", "first", "second"]) $(id).innerHTML = options;
  const parts = ["work_ns", "wait_io_ns", "wait_queue_ns", "wait_lock_ns", "wait_compute_ns", "wait_resource_ns"];
  const stages = run => {
    const list = run.stages.filter(stage => known(stage.wall_ns) && stage.wall_ns > 0);
    if (!list.length) return "";
    const left = 90, width = 700, height = 24;
    let bars = "";
    list.forEach((stage, row) => {
      let at = left;
      bars += `<text x="0" y="${row * height + 16}">${text(stage.stage)}</text>`;
      parts.forEach((part, i) => {
        const length = (width - left) * (stage[part] || 0) / stage.wall_ns;
        bars += `<rect x="${at.toFixed(1)}" y="${row * height + 4}" width="${Math.max(0, length).toFixed(1)}" height="16" fill="${colour(i)}">` +
          `<title>${text(stage.stage)}, ${words(part)}: ${(100 * (stage[part] || 0) / stage.wall_ns).toFixed(1)} %</title></rect>`;
        at += length;
      });
    });
    return `<h3>Stage times and waits</h3><svg viewBox="0 0 ${width} ${list.length * height + 4}" role="img" aria-label="stage split">${bars}</svg>` +
      '<p class="key">' + parts.map((part, i) => `<span><i style="background:${colour(i)}"></i>${words(part)}</span>`).join("") + "</p>";
  };
  // Every distribution there is: epochs, and what the system recorded as percentiles.
  const distributions = run => {
    const list = [], head = ["", "least", "p50", "p90", "p99", "p99.9", "most"];
    const walls = ascending(run.counted.map(e => run.epochs.wall_ns[e]));
    if (walls.length > 1)
      list.push(["later epochs", walls[0], median(walls), percentile(walls, 90), percentile(walls, 99), null, walls[walls.length - 1]]);
    const bases = new Set(Object.keys(run.figures).map(name => (name.match(/^(.*)_(p50|p90|p99|p999|max)_ns$/) || [])[1]).filter(known));
    for (const base of bases) {
      const value = end => { const values = run.figures[base + end]; return values ? values[values.length - 1] : null; };
      list.push([words(base), null, value("_p50_ns"), value("_p90_ns"), value("_p99_ns"), value("_p999_ns"), value("_max_ns")]);
    }
    return list.length ? "<h3>Distributions</h3>" + table(head, list.map(row => row.map((v, i) => i ? shown("_ns", v) : v))) : "";
  };
  const epochs = run => {
    const names = Object.keys(run.epochs).filter(name => run.epochs[name].some(known));
    const count = names.length ? run.epochs[names[0]].length : 0;
    return count ? "<h3>Epochs</h3>" + table(["epoch", ...names.map(words)], [...Array(count).keys()].map(e =>
      [e, ...names.map(name => shown(name, run.epochs[name][e]))])) : "";
  };
  const pairs = (title, object) => `<details><summary>${title}</summary><div class="wide"><table>` +
    Object.keys(object).map(key => `<tr><td>${text(key)}</td><td class="long">${known(object[key]) ? text(object[key]) : "-"}</td></tr>`).join("") +
    "</table></div></details>";
  const values = (title, object) => `<details><summary>${title}</summary>` +
    table(["", ""], Object.keys(object).map(key => [text(key), shown(key, object[key])])) + "</details>";
  const last = figures => Object.fromEntries(Object.entries(figures).map(([name, list]) => [name, list[list.length - 1]]));
  const show = () => {
    const run = byId.get($("one").value);
    $("run").innerHTML = `<p class="soft">${text(run.caption)}</p>` +
      (run.run.reasons ? `<p class="bad">${text(run.run.status)}: ${text(run.run.reasons)}</p>` : "") +
      distributions(run) + epochs(run) + stages(run) + values("Counters, sum over the epochs", run.counters) + values("Counters before the first epoch", run.before) +
      values("Statistics of the system, last epoch", last(run.figures)) + pairs("Configuration", run.config) + pairs("Environment", run.environment);
    const columns = Object.keys(run.series).filter(name => !/^(time|interval)_ns$/.test(name));
    const before = $("column").value;
    $("column").innerHTML = columns.map(name => `<option value="${name}">${words(name)}</option>`).join("");
    if (columns.includes(before)) $("column").value = before;
    for (const row of rows) row.classList.toggle("chosen", row.dataset.run === String(run.id));
    draw();
  };

  // ---- time series ----
  const draw = () => {
    const column = $("column").value, chosen = [byId.get($("one").value)];
    if ($("with-b").checked) chosen.push(byId.get($("second").value));
    const lists = chosen.filter(run => run.series[column] && run.series.time_ns);
    if (!lists.length) { $("series").innerHTML = '<p class="soft">This run has no time series: it was shorter than an interval.</p>'; return; }
    const width = 900, height = 300, left = 70, bottom = 24, top = 10;
    const end = Math.max(...lists.map(run => run.series.time_ns[run.series.time_ns.length - 1]));
    const most = Math.max(1e-9, ...lists.map(run => Math.max(...run.series[column].filter(known))));
    const x = t => left + (width - left - 10) * t / end, y = v => height - bottom - (height - bottom - top) * v / most;
    let out = "";
    for (let i = 0; i <= 4; i++)
      out += `<line x1="${left}" x2="${width - 10}" y1="${y(most * i / 4)}" y2="${y(most * i / 4)}" stroke="var(--line)"/>` +
        `<text x="${left - 6}" y="${y(most * i / 4) + 4}" text-anchor="end">${shown(column, most * i / 4)}</text>`;
    for (let i = 0; i <= 5; i++)
      out += `<text x="${x(end * i / 5)}" y="${height - 6}" text-anchor="${i === 5 ? "end" : "middle"}">${i === 0 ? "0" : shown("_ns", end * i / 5)}</text>`;
    lists.forEach((run, i) => {
      let path = "", pen = "M";
      run.series[column].forEach((value, k) => {
        if (!known(value)) { pen = "M"; return; }
        path += `${pen}${x(run.series.time_ns[k]).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
      });
      out += `<path d="${path}" fill="none" stroke="${colourOf(run)}" stroke-width="1.5"` +
        (repeats(lists, i) ? ' stroke-dasharray="6 4" opacity=".7"/>' : "/>");
      run.series[column].forEach((value, k, all) => { // a value without neighbours has no line
        if (known(value) && !known(all[k - 1]) && !known(all[k + 1]))
          out += `<circle cx="${x(run.series.time_ns[k]).toFixed(1)}" cy="${y(value).toFixed(1)}" r="4" ` +
            `fill="${colourOf(run)}"/>`;
      });
    });
    $("series").innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${words(column)} over time">${out}` +
      `<line id="cursor" y1="${top}" y2="${height - bottom}" stroke="var(--soft)" visibility="hidden"/></svg>` +
      '<p class="key">' + lists.map((run, i) => `<span><i style="background:${colourOf(run)};opacity:${repeats(lists, i) ? ".5" : "1"}"></i>${text(nameOf(run))} <b class="at"></b></span>`).join("") + "</p>" +
      table(["over the intervals", "p50", "p90", "p99", "most"], lists.map(run => {
        const sorted = ascending(run.series[column]);
        return [text(nameOf(run)), ...[50, 90, 99].map(p => shown(column, percentile(sorted, p))), shown(column, sorted[sorted.length - 1])];
      }));
    const svg = $("series").querySelector("svg"), cursor = $("cursor"), marks = [...$("series").querySelectorAll(".at")];
    svg.addEventListener("pointermove", event => {
      const box = svg.getBoundingClientRect(), at = (event.clientX - box.left) * width / box.width;
      const time = end * (at - left) / (width - left - 10);
      cursor.setAttribute("x1", at); cursor.setAttribute("x2", at); cursor.setAttribute("visibility", "visible");
      lists.forEach((run, i) => {
        const k = run.series.time_ns.findIndex(t => t >= time);
        marks[i].textContent = k < 0 ? "" : `${shown(column, run.series[column][k])} at ${shown("_ns", run.series.time_ns[k])}`;
      });
    });
  };

  // ---- the difference of two runs ----
  const difference = () => {
    const a = byId.get($("first").value), b = byId.get($("second").value);
    const list = [];
    const add = (part, x, y, numbers) => {
      for (const key of new Set([...Object.keys(x), ...Object.keys(y)])) {
        const before = x[key], after = y[key];
        if (before === after || (!known(before) && !known(after))) continue;
        const both = typeof before === "number" && typeof after === "number";
        const change = both && before !== 0 ? ((after - before) / before * 100) : null;
        list.push([part, text(key), numbers ? shown(key, before) : known(before) ? text(before) : "-",
          numbers ? shown(key, after) : known(after) ? text(after) : "-", change === null ? "" : (change > 0 ? "+" : "") + change.toFixed(Math.abs(change) < 10 ? 2 : 0) + " %"]);
      }
    };
    const byStage = run => Object.fromEntries(run.stages.flatMap(stage => Object.entries(stage).filter(([key]) => key !== "stage").map(([key, value]) => [`${stage.stage} ${key}`, value])));
    add("result", a.derived, b.derived, true);
    add("option", a.config, b.config, false);
    add("counter", a.counters, b.counters, true);
    add("before the first epoch", a.before, b.before, true);
    add("stage", byStage(a), byStage(b), true);
    add("figure", last(a.figures), last(b.figures), true);
    add("run", {status: a.run.status, valid: a.run.valid}, {status: b.run.status, valid: b.run.valid}, false);
    add("machine", a.environment, b.environment, false);
    $("difference").innerHTML = a === b ? '<p class="soft">Choose two runs.</p>'
      : `<p class="soft">${list.length} values differ.</p><div class="wide"><table><tr><th></th><th>value</th><th>run ${a.id}</th><th>run ${b.id}</th><th class="n">change</th></tr>` +
        list.map(row => "<tr>" + row.map((cell, i) => `<td class="${i === 4 ? "n" : i > 0 ? "long" : ""}">${cell}</td>`).join("") + "</tr>").join("") + "</table></div>";
  };

  for (const row of rows) row.addEventListener("click", () => { $("one").value = row.dataset.run; show(); });
  $("one").addEventListener("input", show);
  for (const id of ["column", "with-b"]) $(id).addEventListener("input", draw);
  for (const id of ["first", "second"]) $(id).addEventListener("input", () => { difference(); draw(); });
  $("one").value = String(runs[runs.length - 1].id);
  $("second").value = String(runs[runs.length - 1].id);
  $("first").value = String(runs[Math.max(0, runs.length - 2)].id);
  for (const section of document.querySelectorAll(".script")) section.hidden = false;
  let opened = []; // nobody unfolds a table on paper
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of opened) details.open = false; });
  filter();
  show();
  difference();
  document.documentElement.dataset.ready = "1";
})();
