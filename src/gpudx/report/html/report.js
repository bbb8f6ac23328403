// Draws the timelines and memory maps of this page. The data lie in the page; nothing is loaded, and no text becomes markup:
// names only ever go to fillText and textContent.
"use strict";
(() => {
  const ARRAYS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array };
  const FONT = "system-ui, 'DejaVu Sans', sans-serif";
  const CLOSEST = 8; // a view is never narrower than this many units

  // ---- data ----

  function bytes(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }

  // A column: bytes were put together by their place in the number, and compressed.
  async function unpacked([width, text]) {
    const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    if (width === 1) return planes;
    const count = planes.length / width, out = new Uint8Array(planes.length);
    for (let k = 0; k < width; k++) for (let i = 0, at = k, from = k * count; i < count; i++, at += width) out[at] = planes[from + i];
    return new ARRAYS[width](out.buffer);
  }

  async function load(place) {
    const data = JSON.parse(place.querySelector("script").textContent), names = Object.keys(data.columns);
    const columns = await Promise.all(names.map((name) => unpacked(data.columns[name])));
    names.forEach((name, i) => { data.columns[name] = columns[i]; });
    return data;
  }

  function summed(gaps) {
    const out = new Float64Array(gaps.length);
    for (let i = 0, sum = 0; i < gaps.length; i++) out[i] = sum += gaps[i];
    return out;
  }

  // The first place in order[from..to) whose value is not below (or, with `above`, is above) the one asked for.
  function search(values, from, to, asked, above) {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (above ? values[middle] <= asked : values[middle] < asked) from = middle + 1; else to = middle;
    }
    return from;
  }

  // ---- words ----

  const number = (value) => Number(value).toLocaleString("en");
  const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

  const unitOf = (ns) => UNITS.find(([one]) => Math.abs(ns) >= one) || UNITS[3];

  function time(ns) {
    const [one, unit] = unitOf(ns), value = ns / one;
    return `${value.toFixed(one === 1 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2)} ${unit}`;
  }

  function size(value) {
    const n = Number(value), at = n >= 2 ** 30 ? 3 : n >= 2 ** 20 ? 2 : n >= 2 ** 10 ? 1 : 0;
    return `${+(n / 2 ** (10 * at)).toFixed(1)} ${["B", "KB", "MB", "GB"][at]}`;
  }

  // ---- lanes: rows of one line of the picture, in order of their beginnings ----

  // All lanes at once by counting. `reach` is how far any row of the lane up to this one reaches: it only grows.
  function lanes(column, count, begin, end) {
    const starts = new Uint32Array(count + 2);
    for (let i = 0; i < column.length; i++) starts[column[i] + 1]++;
    for (let i = 0; i <= count; i++) starts[i + 1] += starts[i];
    const next = starts.slice(), rows = new Uint32Array(column.length);
    for (let i = 0; i < column.length; i++) rows[next[column[i]]++] = i;
    return Array.from({ length: count }, (_, k) => {
      const mine = rows.subarray(starts[k], starts[k + 1]), first = new Float64Array(mine.length), reach = new Float64Array(mine.length);
      for (let i = 0, far = 0; i < mine.length; i++) {
        first[i] = begin[mine[i]];
        reach[i] = far = Math.max(far, end[mine[i]]);
      }
      return { rows: mine, first, reach };
    });
  }

  // ---- a picture: lanes over a stretch that can be moved and zoomed ----

  class Picture {
    // `model` has: lanes, labels, begin, end, low, high, colour(row), text(row), told(row), pins, ticks(picture)
    constructor(place, model) {
      this.place = place;
      this.model = model;
      this.canvas = place.querySelector("canvas");
      this.told = place.querySelector(".told");
      this.chosen = -1;
      this.lane = 0;
      this.top = 46;
      this.high = model.labels.length > 14 ? 15 : 26;
      this.all();
      this.listen();
      new ResizeObserver(() => this.later()).observe(this.canvas.parentElement);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.later());
      this.paint();
    }

    all() { this.from = this.model.low; this.to = this.model.high; this.later(); }

    later() {
      if (this.waiting) return;
      this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
    }

    // ---- places ----

    x(value) { return this.left + (value - this.from) / (this.to - this.from) * (this.width - this.left); }
    at(x) { return this.from + (x - this.left) / (this.width - this.left) * (this.to - this.from); }

    show(from, to) {
      const { low, high } = this.model, room = Math.min(Math.max(to - from, CLOSEST), high - low || 1), spare = room * .5;
      this.from = Math.min(Math.max(from, low - spare), high + spare - room);
      this.to = this.from + room;
      this.later();
    }

    zoom(factor, x = (this.left + this.width) / 2) {
      const middle = this.at(x);
      this.show(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
    }

    move(part) { const by = (this.to - this.from) * part; this.show(this.from + by, this.to + by); }

    // ---- painting ----

    paint() {
      const box = this.canvas.parentElement, ratio = devicePixelRatio || 1;
      this.width = box.clientWidth;
      this.left = Math.min(130, this.width * .3);
      const height = this.top + this.high * this.model.labels.length + 8;
      if (this.canvas.width !== Math.round(this.width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
        this.canvas.width = Math.round(this.width * ratio);
        this.canvas.height = Math.round(height * ratio);
        this.canvas.style.height = `${height}px`;
      }
      const style = getComputedStyle(document.documentElement);
      this.colours = (name) => style.getPropertyValue(`--${name}`).trim();
      const pen = this.pen = this.canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.fillStyle = this.colours("ground");
      pen.fillRect(0, 0, this.width, height);
      this.paintTicks(height);
      this.model.lanes.forEach((lane, k) => this.paintLane(lane, k));
      this.paintPins(height);
      this.paintLabels(height);
    }

    paintTicks(height) {
      const pen = this.pen;
      pen.font = `11px ${FONT}`;
      pen.textAlign = "left";
      for (const [value, text] of this.model.ticks(this)) {
        const x = this.x(value);
        pen.fillStyle = this.colours("line");
        pen.fillRect(x, this.top - 6, 1, height);
        pen.fillStyle = this.colours("soft");
        pen.fillText(text, x + 3, this.top - 8);
      }
    }

    paintLane(lane, k) {
      const top = this.top + k * this.high, high = this.high - 4, count = lane.rows.length;
      const first = search(lane.reach, 0, count, this.from, true), last = search(lane.first, first, count, this.to, true);
      this.pen.fillStyle = this.colours("line");
      this.pen.fillRect(this.left, top + this.high - 2, this.width, .5);
      if (last - first > 3 * this.width) return this.paintDense(lane, first, last, top, high);
      for (let i = first; i < last; i++) this.paintRow(lane.rows[i], top, high);
    }

    // More rows than pixels: per pixel, the colour of its first row, the higher the more rows there are.
    paintDense(lane, first, last, top, high) {
      const pen = this.pen, most = Math.log2(2 + (last - first) / (this.width - this.left) * 4);
      for (let x = Math.floor(this.left), at = first; x < this.width && at < last; x++) {
        const next = search(lane.first, at, last, this.at(x + 1));
        if (next > at) {
          const part = Math.min(1, Math.log2(1 + next - at) / most), tall = Math.max(3, high * part);
          pen.fillStyle = this.colours(this.model.colour(lane.rows[at]));
          pen.fillRect(x, top + high - tall, 1, tall);
        }
        at = next;
      }
    }

    paintRow(row, top, high) {
      const pen = this.pen, { model } = this;
      const x = this.x(model.begin[row]), wide = Math.max(this.x(model.end[row]) - x, 1.5), from = Math.max(x, this.left);
      const seen = Math.min(x + wide, this.width) - from;
      if (seen <= 0) return;
      if (model.guard) this.paintGuard(row, top, high);
      pen.fillStyle = this.colours(model.colour(row));
      pen.fillRect(from, top, wide > 4 ? seen - .5 : seen, high);
      if (model.bad && model.bad(row)) this.frame(from, top, Math.max(seen, 4), high, "failed", 2);
      if (row === this.chosen) this.frame(from - 2, top - 1, seen + 4, high + 2, "text", 2);
      if (seen > 46 && high > 12) this.paintText(model.text(row), from + 4, top + high / 2 + 4, seen - 8);
    }

    paintGuard(row, top, high) {
      const { low, high: far } = this.model.guard, from = Math.max(this.x(low[row]), this.left), to = this.x(far[row]);
      if (to <= from) return;
      this.pen.fillStyle = this.colours("guard");
      this.pen.fillRect(from, top + high * .3, to - from, high * .4);
    }

    frame(x, y, wide, high, colour, thick) {
      this.pen.strokeStyle = this.colours(colour);
      this.pen.lineWidth = thick;
      this.pen.strokeRect(x, y, wide, high);
    }

    paintText(text, x, y, room) {
      const pen = this.pen;
      pen.font = `11px ${FONT}`;
      pen.textAlign = "left";
      let shown = text.slice(0, 80);
      while (shown.length > 3 && pen.measureText(shown).width > room) shown = shown.slice(0, Math.ceil(shown.length * .8) - 1);
      if (shown.length < 3) return;
      pen.fillStyle = this.colours("ground");
      pen.fillText(shown.length < text.length ? `${shown}…` : shown, x, y);
    }

    // Calls that the diagnosis speaks of, over everything else: a line and a word, or a ring.
    paintPins(height) {
      const pen = this.pen;
      const taken = [-Infinity, -Infinity];
      for (const pin of this.model.pins) {
        const x = this.x(pin.at);
        if (x < this.left - 1 || x > this.width) continue;
        for (const k of pin.lanes) this.paintRing(x, this.top + k * this.high + (this.high - 4) / 2, pin.role);
        if (pin.role === "evidence") continue;
        pen.strokeStyle = pen.fillStyle = this.colours(pin.role);
        pen.lineWidth = 1.5;
        pen.setLineDash(pin.role === "victim" ? [4, 3] : []);
        pen.beginPath(); pen.moveTo(x, 14); pen.lineTo(x, height); pen.stroke();
        pen.setLineDash([]);
        pen.font = `bold 12px ${FONT}`;
        const wide = pen.measureText(pin.word).width, right = x + wide + 6 > this.width;
        const place = right ? x - wide - 3 : x + 3;
        const line = place > taken[0] + 4 ? 0 : place > taken[1] + 4 ? 1 : -1;
        if (line < 0) continue;
        pen.fillText(pin.word, place, 12 + 13 * line);
        taken[line] = place + wide;
      }
    }

    paintRing(x, y, role) {
      this.pen.strokeStyle = this.colours(role);
      this.pen.lineWidth = role === "evidence" ? 1.5 : 2.5;
      this.pen.beginPath(); this.pen.arc(x + 1, y, Math.min(this.high * .38, 8), 0, 7); this.pen.stroke();
    }

    paintLabels(height) {
      const pen = this.pen;
      pen.fillStyle = this.colours("ground");
      pen.fillRect(0, 0, this.left, height);
      pen.fillStyle = this.colours("soft");
      pen.textAlign = "left";
      pen.font = `${this.high > 20 ? 12 : 10.5}px ${FONT}`;
      this.model.labels.forEach((label, k) => {
        let shown = label;
        while (shown.length > 4 && pen.measureText(shown).width > this.left - 8) shown = shown.slice(0, -2);
        pen.fillText(shown === label ? label : `${shown}…`, 4, this.top + k * this.high + this.high / 2 + 2);
      });
    }

    // ---- choosing ----

    choose(row) {
      if (row < 0) return;
      this.chosen = row;
      this.told.textContent = this.model.told(row);
      const { begin, end } = this.model;
      if (begin[row] > this.to || end[row] < this.from) {
        const half = (this.to - this.from) / 2;
        this.show(begin[row] - half, begin[row] + half);
      }
      this.later();
    }

    pick(x, y) {
      const k = Math.max(0, Math.min(this.model.lanes.length - 1, Math.floor((y - this.top) / this.high))), lane = this.model.lanes[k];
      const at = search(lane.first, 0, lane.first.length, this.at(x), true) - 1;
      let best = -1, least = 12;
      for (let i = Math.max(0, at - 20); i < Math.min(lane.rows.length, at + 3); i++) {
        const row = lane.rows[i], from = this.x(this.model.begin[row]), to = Math.max(this.x(this.model.end[row]), from + 1);
        const far = Math.max(from - x, x - to, 0);
        if (far <= least) { best = row; least = far; }
      }
      this.lane = k;
      this.choose(best);
    }

    step(by) {
      const lane = this.model.lanes[this.lane].rows.length ? this.model.lanes[this.lane] : this.model.lanes.find((one) => one.rows.length);
      const mine = this.chosen >= 0 ? lane.rows.indexOf(this.chosen) : -1;
      const start = mine >= 0 ? mine + by : search(lane.first, 0, lane.rows.length, this.from);
      this.choose(lane.rows[Math.max(0, Math.min(lane.rows.length - 1, start))]);
    }

    goTo(role) {
      const pin = this.model.pins.find((one) => one.role === role || one.role === "victim" && role === "address");
      if (!pin) return;
      const half = this.model.near(pin, this);
      this.show(pin.at - half, pin.at + half);
      if (pin.row >= 0) { this.lane = pin.lanes[0]; this.choose(pin.row); } else this.told.textContent = pin.told;
    }

    // ---- hands ----

    act(what) {
      if (what.startsWith("pin:")) return this.goTo(what.slice(4));
      ({
        in: () => this.zoom(.5), out: () => this.zoom(2), left: () => this.move(-.25), right: () => this.move(.25),
        all: () => this.all(), before: () => this.step(-1), after: () => this.step(1),
      })[what]();
    }

    listen() {
      this.place.querySelector(".tools").addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button) this.act(button.dataset.do);
      });
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      this.hands = new Map();
      for (const name of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
        this.canvas.addEventListener(name, (event) => this[name](event));
      }
    }

    key(event) {
      const keys = {
        ArrowLeft: event.shiftKey ? "before" : "left", ArrowRight: event.shiftKey ? "after" : "right",
        "+": "in", "=": "in", "-": "out", Home: "all", 0: "all", Enter: "after",
      };
      if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
      event.preventDefault();
      this.act(keys[event.key]);
    }

    // The page scrolls, unless the picture was clicked or Ctrl is held.
    wheel(event) {
      if (!event.ctrlKey && document.activeElement !== this.canvas) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move(event.deltaX / 800);
      else this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), event.offsetX);
    }

    pointerdown(event) {
      this.hands.set(event.pointerId, event.offsetX);
      this.canvas.setPointerCapture(event.pointerId);
      this.moved = this.hands.size > 1;
    }

    pointermove(event) {
      const before = this.hands.get(event.pointerId);
      if (before === undefined || (!this.moved && Math.abs(event.offsetX - before) < 4)) return;
      this.moved = true;
      const others = [...this.hands].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
      if (!others.length) this.move((before - event.offsetX) / (this.width - this.left));
      else this.zoom(Math.abs(before - others[0]) / Math.max(Math.abs(event.offsetX - others[0]), 1), (event.offsetX + others[0]) / 2);
      this.hands.set(event.pointerId, event.offsetX);
    }

    pointerup(event) {
      if (this.hands.delete(event.pointerId) && !this.moved) this.pick(event.offsetX, event.offsetY);
    }

    pointercancel(event) { this.hands.delete(event.pointerId); }
  }

  // ---- timelines ----

  const CLASSES = ["launch", "copy", "wait", "call"];

  function timeline(data) {
    const { columns, queues, threads, pins } = data, begin = summed(columns.gap), call = summed(columns.call);
    const end = new Float64Array(begin.length);
    let last = 0;
    for (let i = 0; i < end.length; i++) last = Math.max(last, end[i] = begin[i] + columns.span[i]);
    const low = begin[0] || 0, unit = data.unit_ns;
    return {
      lanes: [...lanes(columns.queue, queues.length, begin, end), ...lanes(columns.thread, threads.length, begin, end)],
      labels: [...queues, ...threads],
      begin, end, low: low - (last - low) * .01, high: last + (last - low) * .03 + 1,
      colour: (row) => CLASSES[columns.kind[row]],
      bad: (row) => columns.state[row] & 3,
      text: (row) => data.names[columns.name[row]],
      told: (row) => tell(data, row, begin, call),
      pins: pins.map((pin) => ({
        ...pin, at: begin[pin.row], word: data.words[pin.role], lanes: [columns.queue[pin.row], queues.length + columns.thread[pin.row]],
      })),
      near: (pin) => Math.min(Math.max((end[pin.row] - begin[pin.row]) * 2, around(begin, pin.row)), last - low + 1),
      ticks: (picture) => ticks(picture, unit),
    };
  }

  // Half of a stretch that has some fifteen calls on the busier side.
  function around(begin, row) {
    const sides = [begin[Math.min(row + 15, begin.length - 1)] - begin[row], begin[row] - begin[Math.max(row - 15, 0)]];
    return Math.max(Math.min(...sides.filter((side) => side > 0), Infinity), CLOSEST);
  }

  function tell(data, row, begin, call) {
    const { columns, words } = data, states = data.states.filter((_, k) => columns.state[row] >> k & 1);
    const roles = data.pins.filter((pin) => pin.row === row).map((pin) => words[pin.role]);
    return [
      `${words.call} ${number(call[row])}: ${data.names[columns.name[row]]} (${data.kinds[columns.kind[row]]})`,
      data.queues[columns.queue[row]], data.threads[columns.thread[row]],
      `${words.at} ${time(begin[row] * data.unit_ns)}`, `${words.took} ${time(columns.span[row] * data.unit_ns)}`, ...states, ...roles,
    ].join(", ");
  }

  // In one unit, that of the latest; with as many digits as tell them apart.
  function ticks(picture, unit) {
    const from = picture.from * unit, to = picture.to * unit, rough = (to - from) / Math.max(2, (picture.width - picture.left) / 130);
    const power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((k) => k * power).find((one) => one >= rough);
    const [one, name] = unitOf(to), digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / one) + 1e-9))), found = [];
    for (let k = Math.ceil(from / step); k * step < to; k++) found.push([k * step / unit, `${(k * step / one).toFixed(digits)} ${name}`]);
    return found;
  }

  // ---- maps of memory ----

  const BLOCKS = ["launch", "freed", "small", "meant"];

  function memory(data) {
    const { columns, words } = data, begin = Float64Array.from(columns.begin), end = Float64Array.from(columns.end);
    const parts = columns.part.some((part) => part);
    const lane = columns.state.map((state, row) => columns.part[row] ? 2 : state === 1 ? 1 : 0), name = (row) => `${data.kinds[columns.kind[row]]} #${columns.number[row]}`;
    return {
      lanes: lanes(lane, parts ? 3 : 2, begin, end), labels: [...data.states.slice(0, 2), ...(parts ? [words.parts] : [])],
      begin, end, low: -data.width * .01, high: data.width * 1.01 + 1,
      guard: { low: columns.low, high: columns.high },
      colour: (row) => BLOCKS[columns.state[row]],
      text: (row) => `${name(row)}, ${size(columns.size[row])}`,
      told: (row) => [
        name(row), ...(data.by_address ? [`${words.at} 0x${columns.address[row].toString(16)}`] : []),
        `${number(columns.size[row])} ${words.bytes}`, data.states[columns.state[row]], `${words.made} ${number(columns.made[row])}`,
        ...(columns.freed[row] ? [`${words.freed} ${number(columns.freed[row])}`] : []),
        ...(columns.low[row] < columns.begin[row] || columns.high[row] > columns.end[row] ? [words.guarded] : []),
      ].join(", "),
      pins: data.points.map((point) => ({
        role: "victim", row: -1, at: point.at, word: point.text, lanes: [], told: `${point.text}: ${point.address}`,
      })),
      near: () => Math.max(data.width / 40, 200),
      ticks: () => [],
    };
  }

  // ---- the page ----

  const MODELS = { timeline, memory };

  async function start() {
    for (const place of document.querySelectorAll(".drawn")) {
      try {
        place.picture = new Picture(place, MODELS[place.dataset.kind](await load(place)));
        if (place.picture.model.pins.some((pin) => pin.role === "guilty")) place.picture.goTo("guilty");
      } catch (error) {
        place.querySelector(".told").textContent = `${place.dataset.failed} ${error.message}`;
      }
    }
    requestAnimationFrame(() => requestAnimationFrame(() => {
      document.documentElement.dataset.ready = Math.round(performance.now());
    }));
  }

  start();
})();
