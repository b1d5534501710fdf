"use strict";
// The bar: its menu on narrow screens, the section that is being read, and the style. The fits of
// one task at a time.

function setUpMenu() {
  const button = document.querySelector(".menu");
  const open = (state) => button.setAttribute("aria-expanded", String(state));
  button.addEventListener("click", () => open(button.getAttribute("aria-expanded") !== "true"));
  document.getElementById("sections").addEventListener("click", (event) => {
    if (event.target.closest("a")) open(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || button.getAttribute("aria-expanded") !== "true") return;
    open(false);
    button.focus();
  });
}

function markSections() {
  const links = new Map(
    [...document.querySelectorAll("#sections a")].map((link) => [link.hash.slice(1), link]),
  );
  const visible = new Set();
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) visible.add(target.id);
        else visible.delete(target.id);
      }
      const current = [...links.keys()].find((id) => visible.has(id));
      for (const [id, link] of links) {
        if (id === current) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);
}

function setUpStyle() {
  const root = document.documentElement;
  const button = document.querySelector(".theme");
  const name = button.querySelector(".theme-name");
  const show = () => {
    const other = root.dataset.theme === "dark" ? "Light" : "Dark";
    name.textContent = other;
    button.setAttribute("aria-label", `${other} style`);
  };
  const change = (style) => {
    root.dataset.theme = style;
    show();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const style = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("pointforms-theme", style);
    } catch {
      // then it lasts until the page is closed
    }
    change(style);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    change(event.matches ? "dark" : "light");
  });
  let before = null;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    if (before === "dark") change("light"); // paper is white
  });
  addEventListener("afterprint", () => {
    if (before === "dark") change(before);
  });
  show();
}

function setUpFits() {
  const task = document.getElementById("fits-task");
  const show = () => {
    for (const part of document.querySelectorAll(".fits")) {
      part.hidden = part.id !== `fits-${task.value}`;
    }
  };
  task.addEventListener("change", show);
  task.form.hidden = task.options.length < 2;
  show();
}

setUpMenu();
setUpFits();
markSections();
setUpStyle();
