// Groups, filters and draws the cases of this page. They lie in the page; nothing is loaded, and no text becomes markup.
"use strict";
(() => {
  const FIRST_GROUPS = 200, FIRST_CASES = 50, BARS = 24, DAY = 86_400_000;
  const data = JSON.parse(document.querySelector("script[type='application/json']").textContent);
  const cases = data.rows.map((row) => Object.fromEntries(data.columns.map((name, i) => [name, row[i]])));
  const now = Date.now();
  for (const one of cases) {
    one.time = Date.parse(one.created) || 0;
    one.text = [one.status, one.cause, one.program, one.command, one.summary, one.fingerprint, one.place].join("\n").toLowerCase();
  }
  const find = (id) => document.getElementById(id);
  const number = (value) => value.toLocaleString("en");

  function made(name, text = "", set = {}) {
    const one = document.createElement(name);
    if (text) one.textContent = text;
    for (const [key, value] of Object.entries(set)) one.setAttribute(key, value);
    return one;
  }

  function age(time) {
    const s = Math.max(0, (now - time) / 1000);
    const [size, unit] = s >= 172_800 ? [86_400, "d"] : s >= 7_200 ? [3_600, "h"] : s >= 60 ? [60, "min"] : [1, "s"];
    return `${Math.round(s / size)} ${unit} ago`;
  }

  // How many cases there were in each part of the time that is shown.
  function trend(group, first, last) {
    const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), counts = new Array(BARS).fill(0);
    for (const one of group) counts[Math.min(BARS - 1, Math.floor((one.time - first) / (last - first || 1) * BARS))]++;
    const most = Math.max(...counts);
    svg.setAttribute("class", "trend");
    svg.setAttribute("viewBox", `0 0 ${BARS * 6} 26`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `trend: ${counts.join(", ")}`);
    const line = document.createElementNS(space, "line");
    for (const [key, value] of [["x1", 0], ["x2", BARS * 6], ["y1", 25.5], ["y2", 25.5]]) line.setAttribute(key, value);
    svg.append(line);
    counts.forEach((count, k) => {
      if (!count) return;
      const bar = document.createElementNS(space, "rect"), high = Math.max(2, count / most * 25);
      for (const [key, value] of [["x", k * 6], ["y", 25.5 - high], ["width", 5], ["height", high]]) bar.setAttribute(key, value);
      svg.append(bar);
    });
    return svg;
  }

  const HEADS = ["when", "status", "program", "ending", "what", "case"];

  function table(group) {
    const place = made("table"), head = made("tr"), body = made("tbody");
    for (const name of HEADS) head.append(made("th", name, { scope: "col" }));
    const top = made("thead");
    top.append(head);
    place.append(top, body);
    let shown = 0;
    const more = made("button", "", { type: "button" });
    const add = () => {
      for (const one of group.slice(shown, shown + FIRST_CASES)) body.append(line(one));
      shown = Math.min(group.length, shown + FIRST_CASES);
      more.textContent = `Show more (${number(group.length - shown)} left)`;
      more.hidden = shown >= group.length;
    };
    more.addEventListener("click", add);
    add();
    const wide = made("div", "", { class: "wide" });
    wide.append(place, more);
    return wide;
  }

  function line(one) {
    const row = made("tr"), name = one.place.split("/").pop() || one.place;
    const texts = [`${age(one.time)} (${one.created.slice(0, 16).replace("T", " ")})`, one.status, one.program, one.ending, one.summary];
    texts.forEach((text, k) => row.append(made("td", text, { "data-head": HEADS[k] })));
    const last = made("td", "", { "data-head": "case" });
    last.append(one.link ? made("a", name, { href: `./${one.link}` }) : made("span", `${one.place} (${one.host})`));
    row.append(last);
    return row;
  }

  function group(name, list, by, first, last) {
    const place = made("details", "", { class: "group" }), head = made("summary"), title = made("span");
    const worst = ["confirmed", "likely"].find((status) => list.some((one) => one.status === status)) || "";
    title.append(made("span", name, { class: `name ${worst}` }));
    const others = [...new Set(list.map((one) => by === "program" ? one.cause : one.program))];
    const shown = others.slice(0, 4).join(", ") + (others.length > 4 ? ` and ${others.length - 4} more` : "");
    title.append(made("span", by === "fingerprint" ? `${list[0].cause}: ${list[0].summary}` : shown, { class: "more" }));
    head.append(title, made("span", number(list.length), { class: "number" }), trend(list, first, last),
      made("span", age(list[0].time), { class: "age" }));
    place.append(head);
    place.addEventListener("toggle", () => { if (place.open && place.children.length === 1) place.append(table(list)); });
    return place;
  }

  function chosen() {
    const words = find("filter").value.toLowerCase().split(/\s+/).filter(Boolean), status = find("status").value;
    const since = Number(find("since").value) ? now - Number(find("since").value) * DAY : -Infinity;
    return cases.filter((one) => one.time >= since && (!status || one.status === status) && words.every((word) => one.text.includes(word)));
  }

  function show() {
    const found = chosen(), by = find("by").value, groups = new Map(), place = find("groups");
    for (const one of found) groups.has(one[by]) ? groups.get(one[by]).push(one) : groups.set(one[by], [one]);
    const order = [...groups].sort((a, b) => b[1].length - a[1].length || b[1][0].time - a[1][0].time);
    let first = Infinity, last = -Infinity;
    for (const one of found) { first = Math.min(first, one.time); last = Math.max(last, one.time); }
    find("count").textContent = `${number(found.length)} of ${number(cases.length)} cases in ${number(order.length)} groups`;
    place.replaceChildren(...order.slice(0, FIRST_GROUPS).map(([name, list]) => group(name, list, by, first, last)));
    if (order.length > FIRST_GROUPS) place.append(made("p", `${number(order.length - FIRST_GROUPS)} smaller groups are not shown: use the filter.`));
  }

  for (const status of [...new Set(cases.map((one) => one.status))].sort()) find("status").append(made("option", status, { value: status }));
  for (const id of ["status", "by", "since"]) find(id).addEventListener("change", show);
  find("filter").addEventListener("input", show);
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  show();
  requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = Math.round(performance.now()); }));
})();
