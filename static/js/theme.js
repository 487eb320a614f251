// @ts-check
// Sets the chosen theme before the first paint; a classic script, because a module would come too late.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be blocked; then the system's theme holds.
  }
})();
