/** Markup that is safe in a page. Only `html` makes it. */
export interface Html {
  readonly markup: string;
}

type Part = Html | string | number | null | readonly Html[];

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

const toMarkup = (part: Part): string => {
  if (part === null) return '';
  if (typeof part === 'string' || typeof part === 'number') return escape(String(part));
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('');
};

/** Makes a piece of markup. Texts are escaped, and null becomes nothing. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html => ({
  markup: strings.reduce((whole, piece, index) => whole + toMarkup(parts[index - 1] ?? null) + piece),
});

export const join = (pieces: readonly Html[], between: Html): Html => ({
  markup: pieces.map(({ markup }) => markup).join(between.markup),
});

/** Makes an entry of a list of facts (`dl`). */
export const fact = (name: Html | string, value: Html | string): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;

/** Renders `code` and **bold** in a text. */
const inline = (text: string): Html => {
  const pieces = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((piece) => {
    if (piece.startsWith('`') && piece.endsWith('`') && piece.length > 2)
      return html`<code>${piece.slice(1, -1)}</code>`;
    if (piece.startsWith('**')) return html`<strong>${piece.slice(2, -2)}</strong>`;
    return html`${piece}`;
  });
  return html`${pieces}`;
};

/** Renders the Markdown that our own descriptions use: paragraphs, lists, code and bold. */
export const prose = (text: string): Html => {
  const blocks = text.split(/\n{2,}/).map((block) => {
    const lines = block.split('\n');
    if (!lines.every((line) => line.startsWith('- '))) return html`<p>${inline(block)}</p>`;
    return html`<ul>
      ${lines.map((line) => html`<li>${inline(line.slice(2))}</li>`)}
    </ul>`;
  });
  return html`${blocks}`;
};
