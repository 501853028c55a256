// Elements made from text: nothing on this page is ever parsed as HTML after it has loaded.

const $ = (id) => document.getElementById(id);

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const VERDICTS = {
  right: ["✓ right", "good"],
  recovered: ["↻ recovered", "good"],
  wrong: ["✗ wrong", "bad"],
  failed: ["⚠ failed", "mark"],
};

function verdict(outcome) {
  const [word, look] = VERDICTS[outcome] || ["–", ""];
  return make("span", { class: look }, word);
}

function names(texts) {
  return texts.map((text) => make("span", { class: "name" }, text));
}

function labelled(label, ...children) {
  return make("p", {}, make("span", { class: "label" }, label), " ", ...children);
}
