// Controls of a recipe's parameters, made from its schema: a distribution's kind, and a slider and a
// number for each of its parts.

const PARTS = {
  fixed: ["value"],
  uniform: ["low", "high"],
  loguniform: ["low", "high"],
  normal: ["mean", "deviation", "least", "most"],
  choice: [],
};
const open = new Set(["exposure", "camera", "mixture"]);

export function parsed(value) {
  const match = typeof value === "string" && /^\s*([a-z]+)\s*\((.*)\)\s*$/s.exec(value);
  if (!match) return { kind: "fixed", parts: [value] };
  return { kind: match[1], parts: match[2].split(",").map((part) => numeric(part.trim())) };
}

export function written({ kind, parts }) {
  return kind === "fixed" ? parts[0] : `${kind}(${parts.join(", ")})`;
}

function numeric(text) {
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

export function at(values, path) {
  return path.reduce((inner, key) => inner[key], values);
}

// studio: {values(), cameras(), change(path, value, done)}; done: whether a drag has ended.
export function build(root, sections, studio) {
  const focused = document.activeElement?.id;
  root.replaceChildren(...sections.map((section) => sectionOf(section, studio)));
  if (focused) document.getElementById(focused)?.focus();
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function sectionOf(section, studio) {
  const name = section.path.join(".");
  const held = element("details", { open: open.has(name) || open.has(section.path[0]) && section.path.length === 1 });
  held.append(element("summary", {}, section.title.replaceAll("_", " ")));
  if (section.about) held.append(element("p", { className: "soft" }, section.about));
  held.append(...section.fields.map((field) => parameterOf(field, studio)));
  held.append(...section.sections.map((inner) => sectionOf(inner, studio)));
  held.addEventListener("toggle", () => (held.open ? open.add(name) : open.delete(name)));
  return held;
}

function parameterOf(field, studio) {
  const name = field.path.join(".");
  const held = element("fieldset", { className: "parameter" });
  held.dataset.parameter = name;
  const refresh = () => {
    const focused = document.activeElement?.id;
    held.replaceChildren(...contents(field, name, studio, refresh));
    if (focused && held.contains(document.getElementById(focused))) document.getElementById(focused).focus();
  };
  refresh();
  return held;
}

function contents(field, name, studio, refresh) {
  const now = parsed(at(studio.values(), field.path));
  const unit = field.unit ? ` (${field.unit})` : "";
  const drawn = field.times > 1 ? `; drawn ${field.times} times` : "";
  const change = (next, done) => {
    studio.change(field.path, written(next), done);
    if (done) refresh();
  };
  const made = [
    element("legend", {}, field.name.replaceAll("_", " ") + unit),
    element("p", {}, field.about + drawn),
  ];
  const kinds = kindsOf(field);
  if (kinds.length > 1) {
    const select = element("select", { id: `${name}-kind`, ariaLabel: `${name}: how it is drawn` });
    select.append(...kinds.map((kind) => element("option", { value: kind, selected: kind === now.kind }, kind)));
    select.addEventListener("change", () => change(turned(now, select.value, field, studio), true));
    made.push(select);
  }
  if (field.names) made.push(now.kind === "choice" ? namesOf(field, name, now, change) : nameOf(field, name, now, change));
  else if (now.kind === "choice") made.push(listOf(name, now, change));
  else PARTS[now.kind].forEach((part, i) => made.push(partOf(field, name, now, part, i, studio, change)));
  return made;
}

function kindsOf(field) {
  if (field.plain) return ["fixed"];
  if (field.names || field.whole) return ["fixed", "choice"];
  return ["fixed", "uniform", ...(field.high > 0 ? ["loguniform"] : []), "normal", "choice"];
}

// The same parameter drawn in another way, about as wide.
function turned(now, kind, field, studio) {
  if (field.names) return { kind, parts: now.parts.slice(0, kind === "fixed" ? 1 : undefined) };
  const [least, most] = boundsOf(field, studio);
  const numbers = now.parts.map(Number).filter(Number.isFinite);
  let low = Math.min(...numbers), high = Math.max(...numbers);
  if (now.kind === "normal") [low, high] = [now.parts[2], now.parts[3]];
  const middle = now.kind === "normal" ? now.parts[0] : (low + high) / 2;
  if (kind === "fixed") return { kind, parts: [field.whole ? Math.round(middle) : rounded(middle)] };
  if (kind === "choice") return { kind, parts: low === high ? [low] : [low, high].map(rounded) };
  if (low === high) {
    const reach = (most - least) / 20;
    [low, high] = [Math.max(least, low - reach), Math.min(most, high + reach)];
  }
  if (kind === "loguniform") {
    low = Math.max(low, least, most / 1e6);
    if (low <= 0 || high <= low) [low, high] = [Math.max(least, most / 100), most];
  }
  if (kind === "normal") return { kind, parts: [middle, (high - low) / 4, low, high].map(rounded) };
  return { kind, parts: [low, high].map(rounded) };
}

export function rounded(value) {
  return Number(Number(value).toPrecision(4));
}

// An ISO is bounded by what the cameras that are chosen are calibrated for.
function boundsOf(field, studio) {
  if (field.path.at(-1) !== "iso") return [field.low, field.high];
  const names = parsed(at(studio.values(), [...field.path.slice(0, -1), "name"])).parts;
  const known = names.map((name) => studio.cameras()[name]).filter(Boolean);
  const low = Math.max(field.low, ...known.map(([least]) => least));
  const high = Math.min(field.high, ...known.map(([, most]) => most));
  return low < high ? [low, high] : [field.low, field.high];
}

function partOf(field, name, now, part, i, studio, change) {
  let [low, high] = boundsOf(field, studio);
  if (part === "deviation") [low, high] = [0, (high - low) / 2];
  const scale = scaleOf(low, high, field.whole);
  const id = `${name}-${part}`;
  const label = now.kind === "fixed" ? name : `${name}: ${part}`;
  const slider = element("input", { id, type: "range", min: scale.min, max: scale.max, step: scale.step, ariaLabel: label });
  const exact = element("input", { id: `${id}-exact`, type: "text", inputMode: "decimal", ariaLabel: `${label}, exactly` });
  const show = () => {
    slider.value = scale.from(Number(now.parts[i]));
    exact.value = String(now.parts[i]);
    slider.setAttribute("aria-valuetext", `${now.parts[i]} ${field.unit ?? ""}`.trim());
  };
  const set = (value, done) => {
    now.parts[i] = value;
    ordered(now, i);
    change(now, done);
    if (!done) show();
  };
  slider.addEventListener("input", () => set(scale.to(Number(slider.value)), false));
  slider.addEventListener("change", () => change(now, true));
  exact.addEventListener("change", () => {
    const value = Number(exact.value);
    if (exact.value.trim() === "" || !Number.isFinite(value)) show();
    else set(value, true);
  });
  show();
  return element("div", { className: "part" }, element("span", {}, part), slider, exact);
}

// A low end that is pushed beyond its high end takes it along.
function ordered(now, i) {
  const first = now.kind === "normal" ? 2 : 0;
  const ends = [first, first + 1];
  if (!ends.includes(i) || now.parts.length < 2) return;
  if (i === ends[0]) now.parts[ends[1]] = Math.max(now.parts[ends[1]], now.parts[i]);
  else now.parts[ends[0]] = Math.min(now.parts[ends[0]], now.parts[i]);
}

function scaleOf(low, high, whole) {
  const plain = (value) => value;
  if (whole) return { min: low, max: high, step: 1, to: plain, from: plain };
  const bent = (to, from) => ({
    min: 0, max: 1000, step: 1,
    to: (t) => (t <= 0 ? low : t >= 1000 ? high : Number(to(t / 1000).toPrecision(3))),
    from: (value) => Math.round(1000 * from(value)),
  });
  if (low > 0 && high / low >= 50) {
    return bent((t) => low * (high / low) ** t, (value) => Math.log(value / low) / Math.log(high / low));
  }
  if (high - low >= 1000) {
    return bent((t) => low + (high - low) * t ** 4, (value) => ((value - low) / (high - low)) ** 0.25);
  }
  const step = 10 ** Math.floor(Math.log10((high - low) / 200));
  const digits = Math.max(0, Math.round(-Math.log10(step)));
  return { min: low, max: high, step, to: (value) => Number(value.toFixed(digits + 1)), from: plain };
}

function listOf(name, now, change) {
  const input = element("input", { id: `${name}-list`, type: "text", value: now.parts.join(", "), ariaLabel: `${name}: values, with commas` });
  input.addEventListener("change", () => {
    const parts = input.value.split(",").map((part) => numeric(part.trim())).filter((part) => part !== "");
    if (parts.length) change({ kind: "choice", parts }, true);
    else input.value = now.parts.join(", ");
  });
  return input;
}

function nameOf(field, name, now, change) {
  const select = element("select", { id: `${name}-value`, ariaLabel: name });
  select.append(...field.names.map((one) => element("option", { value: one, selected: one === now.parts[0] }, one)));
  select.addEventListener("change", () => change({ kind: "fixed", parts: [select.value] }, true));
  return select;
}

function namesOf(field, name, now, change) {
  const held = element("div", { className: "names" });
  for (const one of field.names) {
    const box = element("input", { id: `${name}-${one}`, type: "checkbox", checked: now.parts.includes(one) });
    box.addEventListener("change", () => {
      const parts = field.names.filter((other) => (other === one ? box.checked : now.parts.includes(other)));
      change({ kind: "choice", parts: parts.length ? parts : now.parts }, true);
    });
    held.append(element("label", {}, box, ` ${one}`));
  }
  return held;
}
