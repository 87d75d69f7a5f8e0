// The page: what is shown of which photograph by which recipe, its history, and what it can be told.

import * as server from "./server.js";
import { at, build } from "./controls.js";
import { Following, Loupe, drawSheet, element, show } from "./pictures.js";

const PATIENCE = 400; // milliseconds between statistics while something is dragged
const state = { values: {}, base: "", controls: [], cameras: {}, photo: 0, seed: 0, revision: 0, failed: false };
const history = { past: [], future: [], kept: "" };
const facts = { labels: {}, references: {}, photographs: [] };
const loupe = new Loupe([
  [element("low"), element("loupe-low")],
  [element("other"), element("loupe-other")],
]);

function say(text, wrong = false) {
  state.failed = false; // what the picture's own failure said is said no more
  element("message").textContent = text;
  element("message").classList.toggle("wrong", wrong);
}

// ---- pictures

function view() {
  return document.querySelector("input[name=view]:checked").value;
}

let showing = Promise.resolve(); // the next picture is made while one is decoded

const low = new Following(async (wish) => {
  try {
    if (wish.view === "sheet") {
      await drawSheet(element("sheet"), wish, () => low.overtaken, (seed) => setSeed(seed, "beside"));
      finish(wish);
      return;
    }
    const blob = await server.picture(wish);
    await showing;
    showing = show(element("low"), blob).then(() => finish(wish), (error) => fail(wish, error));
  } catch (error) {
    await showing;
    fail(wish, error);
  }
});

function finish(wish) {
  element("frame-low").classList.remove("stale");
  if (state.failed) say("");
  state.failed = false;
  loupe.draw();
  document.body.dataset.shown = wish.revision;
}

function fail(wish, error) {
  element("frame-low").classList.add("stale");
  say(error.message, true);
  state.failed = true;
  document.body.dataset.shown = wish.revision;
}

const other = new Following(async (name) => {
  const photo = state.photo;
  try {
    const response = name
      ? await server.picture({ ...wish(), photo, values: (await server.ask("recipe", { name })).values })
      : await server.normal(photo);
    await show(element("other"), response);
    element("other").alt = name ? `low by ${name}` : "normal of the chosen photograph";
    element("other-name").textContent = name ? `low by ${name}` : "normal";
    loupe.draw();
  } catch (error) {
    say(error.message, true);
  }
});

const about = new Following(async (wish) => {
  try {
    tell(await server.ask("about", wish));
  } catch {
    // The picture of the same wish says what is wrong; what stands here is of another one.
    element("command").textContent = "";
    element("copy").disabled = true;
  }
  await new Promise((done) => setTimeout(done, PATIENCE));
});

function wish() {
  const { photo, values, seed, base, revision } = state;
  const bright = element("bright").checked;
  return { photo, values: structuredClone(values), seed, base, revision, bright, view: view() };
}

function redraw() {
  state.revision += 1;
  document.body.dataset.revision = state.revision;
  low.want(wish());
  about.want(wish());
}

function redrawAll() {
  redraw();
  other.want(element("with").value);
}

// ---- the recipe and its history

function change(path, value, done) {
  if (done && !state.failed) say(""); // what was said before is of before
  at(state.values, path.slice(0, -1))[path.at(-1)] = value;
  redraw();
  if (done) keep();
}

function keep() {
  const now = JSON.stringify(state.values);
  if (now === history.kept) return;
  if (history.kept) history.past.push({ ...history.about, values: history.kept });
  history.future = [];
  remember();
}

function remember() {
  history.kept = JSON.stringify(state.values);
  history.about = { base: state.base, controls: state.controls, cameras: state.cameras };
  element("undo").disabled = !history.past.length;
  element("redo").disabled = !history.future.length;
}

function step(from, to) {
  const before = from.pop();
  if (!before) return;
  to.push({ ...history.about, values: history.kept });
  Object.assign(state, { ...before, values: JSON.parse(before.values) });
  remember();
  rebuild();
}

function rebuild() {
  build(element("controls"), state.controls, {
    values: () => state.values,
    cameras: () => state.cameras,
    change: (path, value, done) => {
      change(path, value, done);
      if (done && path.at(-1) === "name") rebuild(); // another camera has other ISOs
    },
  });
  element("name").value = state.values.name.replace(/[^A-Za-z0-9_-]+/g, "-");
  element("recipe").value = state.base;
  redraw();
}

function take(recipe) {
  say("");
  Object.assign(state, recipe);
  rebuild();
  keep();
}

function setSeed(seed, mode) {
  state.seed = seed;
  element("seed").value = seed;
  if (mode) document.querySelector(`input[name=view][value=${mode}]`).click();
  else redrawAll();
}

// ---- what is known of the low

function row(...cells) {
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

function cell(text, kind = "td", className = "") {
  const made = document.createElement(kind);
  made.textContent = text;
  made.className = className;
  if (kind === "th") made.scope = className === "head" ? "col" : "row";
  return made;
}

function tell({ drawn, statistics, command }) {
  const names = Object.keys(facts.references);
  const head = ["statistic", "this low", ...names].map((name) => cell(name, "th", "head"));
  const rows = Object.entries(statistics).map(([name, value]) =>
    row(
      cell(facts.labels[name], "th"),
      cell(shown(value), "td", "number"),
      ...names.map((reference) => banded(value, facts.references[reference][name])),
    ),
  );
  element("statistics").replaceChildren(row(...head), ...rows);
  element("drawn").replaceChildren(...drawn.map(([name, value]) => row(cell(name, "th"), cell(value))));
  element("command").textContent = command || "Save the recipe first: then the command names its file.";
  element("copy").disabled = !command;
}

function banded(value, reference) {
  if (reference === undefined || reference === null) return cell("");
  if (!Array.isArray(reference)) return cell(`median ${shown(reference)}`, "td", "number");
  const [least, , most] = reference;
  const within = value >= least && value <= most;
  const made = cell(`${shown(least)} to ${shown(most)}`, "td", `number ${within ? "within" : "beyond"}`);
  made.title = within ? "within percentiles 5 to 95" : "beyond percentiles 5 to 95";
  return made;
}

function shown(value) {
  return Number(value.toPrecision(3)).toString();
}

// ---- photographs

function choosePhoto(number) {
  say("");
  state.photo = number;
  for (const button of element("photos").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.photo) === number));
  }
  const photo = facts.photographs[number];
  element("size").textContent = photo.shrunk ? `Shown at ${photo.width} x ${photo.height}, the photograph has ${photo.shrunk} pixels.` : "";
  for (const id of ["low", "other"]) Object.assign(element(id), { width: photo.width, height: photo.height });
  redrawAll();
}

function addPhoto(photo) {
  facts.photographs[photo.number] = photo;
  const button = document.createElement("button");
  const image = new Image();
  const name = document.createElement("span");
  image.src = server.normalAddress(photo.number, true);
  image.alt = "";
  image.loading = "lazy";
  name.textContent = photo.name;
  button.append(image, name);
  button.type = "button";
  button.dataset.photo = photo.number;
  button.title = photo.name;
  button.onclick = () => choosePhoto(photo.number);
  const item = document.createElement("li");
  item.append(button);
  element("photos").append(item);
}

async function takeFiles(files) {
  const added = [], refused = [];
  for (const file of files) {
    try {
      const photo = await server.upload(file);
      addPhoto(photo);
      choosePhoto(photo.number);
      added.push(photo.name);
    } catch (error) {
      refused.push(`${file.name}: ${error.message}`);
    }
  }
  const words = [...refused, ...(added.length ? [`${added.join(", ")} added`] : [])];
  say(words.join("; "), refused.length > 0);
}

// ---- files

async function save(replace = false) {
  const name = element("name").value;
  const found = await server.ask("save", { values: state.values, name, replace });
  if (found.exists) {
    if (window.confirm(`${found.file} is there already. Replace it?`)) await save(true);
    return;
  }
  state.values.name = name;
  state.base = found.file;
  named(found.file);
  element("recipe").value = found.file;
  remember();
  say(`saved as ${found.file}`);
  about.want(wish());
}

function named(name) {
  if ([...element("recipe").options].some((option) => option.value === name)) return;
  const option = new Option(name, name);
  option.disabled = true; // what a file holds is in the history, or loaded
  element("recipe").append(option);
}

async function download() {
  const name = element("name").value || "recipe";
  const link = document.createElement("a");
  const values = { ...state.values, name };
  link.href = URL.createObjectURL(new Blob([await server.text(values)], { type: "text/yaml" }));
  link.download = `${name}.yaml`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function told(action) {
  return (event) => Promise.resolve(action(event)).catch((error) => say(error.message, true));
}

// ---- wiring

function wire() {
  element("undo").onclick = () => step(history.past, history.future);
  element("redo").onclick = () => step(history.future, history.past);
  element("save").onclick = told(() => save());
  element("download").onclick = told(download);
  element("load").onclick = () => element("file").click();
  element("file").onchange = told(async ({ target }) => {
    const [file] = target.files;
    if (file) take(await server.ask("read", { text: await file.text(), name: file.name }));
    target.value = "";
  });
  element("recipe").onchange = told(async ({ target }) => take(await server.ask("recipe", { name: target.value })));
  element("seed").onchange = ({ target }) => setSeed(Math.max(0, Math.floor(Number(target.value)) || 0));
  element("with").onchange = ({ target }) => other.want(target.value);
  element("add").onchange = ({ target }) => takeFiles([...target.files]).then(() => (target.value = ""));
  element("bright").onchange = redrawAll;
  element("close").onchange = ({ target }) => {
    element("loupes").hidden = !target.checked;
    loupe.draw();
  };
  element("wipe").oninput = ({ target }) => element("frames").style.setProperty("--at", `${target.value}%`);
  element("copy").onclick = told(() =>
    navigator.clipboard.writeText(element("command").textContent).then(() => say("copied")),
  );
  for (const choice of document.querySelectorAll("input[name=view]")) {
    choice.onchange = () => {
      element("frames").className = choice.value;
      element("frames").hidden = choice.value === "sheet";
      element("wipe").hidden = choice.value !== "wipe";
      element("sheet").hidden = choice.value !== "sheet";
      redrawAll();
    };
  }
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input[type=text], input[type=number]");
    if (!(event.ctrlKey || event.metaKey) || typing) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) step(history.future, history.past);
    else step(history.past, history.future);
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    takeFiles([...event.dataTransfer.files]);
  });
}

async function begin() {
  const begun = await server.start();
  Object.assign(facts, { labels: begun.labels, references: begun.references });
  for (const { name, about: words } of begun.recipes) {
    element("recipe").append(Object.assign(new Option(name, name), { title: words }));
    element("with").append(new Option(`low by ${name}`, name));
  }
  if (![...element("recipe").options].some((option) => option.value === begun.base)) {
    element("recipe").append(new Option(begun.base, begun.base));
  }
  begun.photographs.forEach(addPhoto);
  wire();
  state.seed = begun.seed;
  element("seed").value = begun.seed;
  take({ values: begun.values, base: begun.base, controls: begun.controls, cameras: begun.cameras });
  choosePhoto(0);
}

begin().catch((error) => say(error.message, true));
