import { z } from 'zod';

/** The names of the members of `Source` that are such values. */
type NameOf<Source, Value> = {
  [Name in keyof Source]: Source[Name] extends Value ? Name : never;
}[keyof Source];

/** A member of an answer: its schema; the member of the source that it shows, or a function of it; an example. */
type Member<Source, Context, Schema extends z.ZodType> = readonly [
  schema: Schema,
  read: NameOf<Source, z.output<Schema>> | ((source: Source, context: Context) => z.output<Schema>),
  example: z.output<Schema>,
];

type Members<Source, Context, Shape extends z.ZodRawShape> = {
  readonly [Name in keyof Shape]: Member<Source, Context, Shape[Name] & z.ZodType>;
};

/**
 * Defines the form in which answers show a `Source`. `texts` describe its members. `Context`: what is needed to write it,
 * beside itself.
 */
export const defineView =
  <Source, Context = void>(texts: Readonly<Record<string, string>> = {}) =>
  <Shape extends Record<string, z.ZodType>>(members: Members<Source, Context, Shape>) => {
    type Output = z.output<z.ZodObject<Shape, z.core.$strict>>;
    for (const name of Object.keys(texts))
      if (!Object.hasOwn(members, name)) throw new TypeError(`a text describes no member: ${name}`);
    const entries = Object.entries<Member<Source, Context, z.ZodType>>(members).map(
      ([name, [schema, read, example]]) => {
        const text = texts[name];
        return [name, [text === undefined ? schema : schema.describe(text), read, example]] as const;
      },
    );
    const made = (of: (member: (typeof entries)[number][1]) => unknown): object =>
      Object.fromEntries(entries.map(([name, member]) => [name, of(member)]));
    const schema = z.strictObject(made(([one]) => one) as Shape);
    const example = made(([, , one]) => one) as Output;
    return {
      members: Object.fromEntries(entries) as typeof members,
      schema,
      example: noteExample(schema, example),
      show: (source: Source, context: Context): Output =>
        made(([, read]) => (typeof read === 'function' ? read(source, context) : source[read])) as Output,
    };
  };

/** How a `Source` is shown. */
export interface View<Source, Context> {
  schema: z.ZodObject;
  example: object;
  show(source: Source, context: Context): object;
}

/** Returns a view to which later versions may add members. */
export const extensible = <Source, Context>(view: View<Source, Context>): View<Source, Context> => ({
  ...view,
  schema: z.looseObject(view.schema.shape),
});

const examples = new WeakMap<z.ZodType, unknown>();

/** Notes the example of answers with this schema, and returns it. */
const noteExample = <Output>(schema: z.ZodType<Output>, example: Output): Output => {
  examples.set(schema, example);
  return example;
};

/** Returns the schema of a member with an example of it. */
export const like = <Schema extends z.ZodType>(schema: Schema, example: z.output<Schema>): Schema => {
  const own = schema.clone();
  noteExample(own, example);
  return own;
};

/** Makes an example of an answer of those of its parts: each list has one item, and each claim is false. */
export const exampleOf = (schema: z.ZodType): unknown => {
  if (examples.has(schema)) return examples.get(schema);
  if (schema instanceof z.ZodObject)
    return Object.fromEntries(
      Object.entries(schema.shape).map(([name, inner]) => [name, exampleOf(inner as z.ZodType)]),
    );
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element as z.ZodType)];
  if (schema instanceof z.ZodUnion) return exampleOf(schema.options[0] as z.ZodType);
  return schema instanceof z.ZodBoolean ? false : undefined;
};

/** Makes a page of a list. `found`: what was read, which was one more than `limit`. */
export const toPage = <Name extends string, Source, View>(
  name: Name,
  found: readonly Source[],
  { limit, show }: { limit: number; show: (source: Source) => View },
): Record<Name, View[]> & { has_more: boolean } => {
  const items = found.slice(0, limit).map((source) => show(source));
  return { ...({ [name]: items } as Record<Name, View[]>), has_more: found.length > limit };
};
