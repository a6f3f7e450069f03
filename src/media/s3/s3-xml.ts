const entities = new Map([
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
  ['&#34;', '"'],
  ['&#39;', "'"],
  ['&amp;', '&'],
]);

/** The text of the first element of that name, which holds no other element; null when there is none. */
export const textOf = (xml: string, name: string): string | null => {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined
    ? null
    : text.replace(/&(?:lt|gt|quot|apos|#34|#39|amp);/g, (entity) => entities.get(entity) ?? entity);
};

/** The insides of all elements of that name, which do not hold each other. */
export const elementsOf = (xml: string, name: string): string[] =>
  xml
    .split(`<${name}>`)
    .slice(1)
    .map((part) => part.split(`</${name}>`)[0] ?? '');

export const escapeXml = (text: string): string =>
  text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
