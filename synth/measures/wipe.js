// Without this page's script low and normal stand side by side; with it, one wipes over the other.
document.documentElement.classList.add("live");
for (const slider of document.querySelectorAll(".pair input")) {
  const wipe = slider.parentElement.querySelector(".wipe");
  slider.addEventListener("input", () => wipe.style.setProperty("--at", slider.value + "%"));
}
