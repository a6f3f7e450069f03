// Filters /docs while somebody types. Without it the page is whole.
const field = document.querySelector('#search-words');
const status = document.querySelector('#search-status');
const main = document.querySelector('main');
const introduction = main.querySelector('header');
const links = new Map(
  [...document.querySelectorAll('nav li a')].map((link) => [link.hash, link.parentElement]),
);
const sections = [...main.querySelectorAll('section')].map((section) => ({
  section,
  heading: section.querySelector('h2').textContent.toLowerCase(),
  entries: [...section.querySelectorAll(':scope > details')].map((entry) => {
    const body = entry.querySelector('.body');
    const texts = [entry.querySelector('summary'), body.querySelector(':scope > p')];
    return {
      elements: [entry, links.get(`#${body.id}`)].filter(Boolean),
      text: [body.id, ...texts.map((part) => part?.textContent)].join(' ').toLowerCase(),
    };
  }),
}));

const filter = () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (text) => words.every((word) => text.includes(word));
  let found = 0;
  for (const { section, heading, entries } of sections) {
    const isWhole = matches(heading);
    const before = found;
    for (const { elements, text } of entries) {
      const isFound = isWhole || matches(text);
      for (const element of elements) element.hidden = !isFound;
      found += Number(isFound);
    }
    section.hidden = found === before && words.length > 0;
  }
  introduction.hidden = words.length > 0;
  status.textContent = words.length === 0 ? '' : `${found === 0 ? 'Nothing' : found} found`;
};

const clear = () => {
  field.value = '';
  filter();
};

field.addEventListener('input', () => {
  filter();
  scrollTo(0, 0);
});
field.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') clear();
  if (event.key !== 'Enter') return;
  // The same key press would close what gets the focus.
  event.preventDefault();
  const first = main.querySelector('details:not([hidden], [hidden] *) > summary');
  if (first === null) return;
  first.parentElement.open = true;
  first.focus();
});
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target === field) return;
  event.preventDefault();
  field.focus();
});
// A link may lead to a place that the filter hides.
addEventListener('click', ({ target }) => {
  const link = target instanceof Element ? target.closest('a[href^="#"]') : null;
  const place = link && document.getElementById(link.hash.slice(1));
  if (place?.closest('[hidden]')) clear();
});
field.parentElement.hidden = false;
filter();
