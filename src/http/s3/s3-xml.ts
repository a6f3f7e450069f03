const entities = new Map([
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
  ['&#34;', '"'],
  ['&#39;', "'"],
  ['&amp;', '&'],
]);

/** Returns the text of the first element of that name, which must contain no other element; null if there is none. */
export const textOf = (xml: string, name: string): string | null => {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined
    ? null
    : text.replace(/&(?:lt|gt|quot|apos|#34|#39|amp);/g, (entity) => entities.get(entity) ?? entity);
};

/** Returns the contents of all elements of that name, which must not be nested. */
export const elementsOf = (xml: string, name: string): string[] =>
  xml
    .split(`<${name}>`)
    .slice(1)
    .map((part) => part.split(`</${name}>`)[0] ?? '');

export const escapeXml = (text: string): string =>
  text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
