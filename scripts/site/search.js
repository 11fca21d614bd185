const box = document.getElementById("search"), found = document.getElementById("found"), root = document.body.dataset.top;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  if (words.length === 0) return;
  const hits = index.filter(([page, heading]) => words.every(w => (page + " " + heading).toLowerCase().includes(w)));
  for (const [page, heading, to] of hits.slice(0, 20)) {
    const a = document.createElement("a"), li = document.createElement("li");
    a.href = root + to;
    a.textContent = heading === page ? page : page + ": " + heading;
    li.append(a);
    found.append(li);
  }
});
