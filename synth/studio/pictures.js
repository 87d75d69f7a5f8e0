// Pictures on the page: the newest wish is made, wishes that were overtaken are not.

import { picture } from "./server.js";

const DRAWS = 12;

export function element(id) {
  return document.getElementById(id);
}

// Show a blob in an image, which keeps its picture until the new one is loaded.
export async function show(image, blob) {
  const before = image.src;
  await new Promise((done, fail) => {
    image.onload = done;
    image.onerror = () => fail(new Error("the picture cannot be shown"));
    image.src = URL.createObjectURL(blob);
  });
  if (before.startsWith("blob:")) URL.revokeObjectURL(before);
}

// Makes `make(wish)` follow the newest wish, one at a time.
export class Following {
  #wish = null;
  #busy = false;

  constructor(make) {
    this.make = make;
  }

  want(wish) {
    this.#wish = wish;
    if (!this.#busy) this.#run();
  }

  get overtaken() {
    return this.#wish !== null;
  }

  async #run() {
    this.#busy = true;
    while (this.#wish !== null) {
      const wish = this.#wish;
      this.#wish = null;
      await this.make(wish);
    }
    this.#busy = false;
  }
}

// A sheet of several draws: seeds from the chosen one on. Stops where it is overtaken.
export async function drawSheet(root, wish, overtaken, choose) {
  while (root.children.length < DRAWS) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(new Image(), document.createElement("span"));
    const item = document.createElement("li");
    item.append(button);
    root.append(item);
  }
  for (let i = 0; i < DRAWS && !overtaken(); i++) {
    const seed = wish.seed + i;
    const button = root.children[i].firstChild;
    await show(button.firstChild, await picture({ ...wish, seed, small: true }));
    button.firstChild.alt = `low of seed ${seed}`;
    button.lastChild.textContent = `seed ${seed}`;
    button.onclick = () => choose(seed);
  }
}

// A part of each picture, a pixel for a pixel, about a place that pointer or arrow keys move.
export class Loupe {
  place = [0.5, 0.5];

  constructor(pairs) {
    this.pairs = pairs; // of an image and a canvas
    for (const [image] of pairs) {
      // The figure: what of an image is wiped away takes no events.
      image.parentElement.addEventListener("pointermove", (event) => {
        const box = image.getBoundingClientRect();
        this.move((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
      });
    }
    element("frame-low").addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step || element("loupes").hidden) return;
      event.preventDefault();
      this.move(this.place[0] + step[0] / 40, this.place[1] + step[1] / 40);
    });
  }

  move(x, y) {
    this.place = [x, y].map((share) => Math.min(Math.max(share, 0), 1));
    this.draw();
  }

  draw() {
    if (element("loupes").hidden) return;
    for (const [image, canvas] of this.pairs) {
      const context = canvas.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.clearRect(0, 0, canvas.width, canvas.height);
      if (!image.naturalWidth) continue;
      const left = this.place[0] * image.naturalWidth - canvas.width / 2;
      const top = this.place[1] * image.naturalHeight - canvas.height / 2;
      context.drawImage(image, -Math.round(left), -Math.round(top));
    }
  }
}
