"use strict";
// Before anything is drawn: the reader's choice, or what the system prefers.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("pointforms-theme");
  } catch {
    // a browser may keep no storage for files
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const known = chosen === "light" || chosen === "dark";
  document.documentElement.dataset.theme = known ? chosen : dark ? "dark" : "light";
})();
