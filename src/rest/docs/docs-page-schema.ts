import { html, join, prose, type Html } from './docs-page-html.ts';

/** The parts of a JSON Schema that the page shows. */
export interface ShownSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, ShownSchema>;
  required?: string[];
  items?: ShownSchema;
  anyOf?: ShownSchema[];
  oneOf?: ShownSchema[];
  allOf?: ShownSchema[];
  not?: object;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** Members below this depth are only in `/openapi.json`. */
const deepest = 5;

const schemaName = (reference: string): string => reference.split('/').at(3) ?? reference;

const code = (value: unknown): Html => html`<code>${JSON.stringify(value)}</code>`;

/** Renders the type of a value: `string or null`, `array of Job`, `"queued" | "done"`. */
export const typeOf = (schema: ShownSchema): Html => {
  if (schema.$ref !== undefined) {
    const name = schemaName(schema.$ref);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return join(schema.enum.map(code), html` | `);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    const shown = new Map(choices.map(typeOf).map((choice) => [choice.markup, choice]));
    return join([...shown.values()], html` or `);
  }
  if (schema.allOf !== undefined) return join(schema.allOf.map(typeOf), html` and `);
  if (schema.items !== undefined) return html`array of ${typeOf(schema.items)}`;
  if (schema.type === undefined) return schema.not === undefined ? html`any value` : html`not accepted`;
  return html`${[schema.type].flat().join(' or ')}`;
};

const range = (least: number | undefined, most: number | undefined, unit: string): string[] => {
  if (least === undefined && most === undefined) return [];
  const show = (value: number): string => value.toLocaleString('en-US');
  if (least !== undefined && most !== undefined) return [`${show(least)} to ${show(most)}${unit}`];
  if (least === 1 && unit !== '') return ['not empty'];
  return least === undefined ? [`at most ${show(most ?? 0)}${unit}`] : [`at least ${show(least)}${unit}`];
};

/** Renders the limits of a value: `1 to 100, default 50`. Null when it has none. */
export const limitsOf = (schema: ShownSchema): Html | null => {
  // A nullable value has its limits in the other choice.
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = [
    schema,
    ...(schema.anyOf ?? []),
  ].reduce((all, one) => ({ ...one, ...all }));
  const limits = [
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' items'),
  ];
  const initial = schema.default === undefined ? null : html`default ${code(schema.default)}`;
  const shown = [...limits.map((limit) => html`${limit}`), ...(initial === null ? [] : [initial])];
  return shown.length === 0 ? null : html`<span class="limits">${join(shown, html`, `)}</span>`;
};

/** Returns the objects within a schema whose members are listed. */
const objectsIn = (schema: ShownSchema): ShownSchema[] => {
  if (schema.properties !== undefined) return [schema];
  return [
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
  ].flatMap(objectsIn);
};

/** Renders the members of a schema as nested lists. Null when it has none of its own. */
export const membersOf = (schema: ShownSchema, depth = 1): Html | null => {
  const objects = objectsIn(schema).filter(({ properties }) => Object.keys(properties ?? {}).length > 0);
  if (objects.length === 0 || depth > deepest) return null;
  return html`${objects.map(
    (object) =>
      html`<ul class="members">
        ${Object.entries(object.properties ?? {}).map(([name, member]) =>
          memberOf(name, member, object.required?.includes(name) === true, depth),
        )}
      </ul>`,
  )}`;
};

const memberOf = (name: string, member: ShownSchema, isRequired: boolean, depth: number): Html =>
  html`<li>
    <span class="name">${name}</span> <span class="type">${typeOf(member)}</span>
    ${isRequired ? html`<span class="required">required</span>` : null} ${limitsOf(member)}
    ${member.description === undefined ? null : prose(member.description)} ${membersOf(member, depth + 1)}
  </li>`;
