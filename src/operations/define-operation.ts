import type { Services } from './call.ts';
import type { Operation, ReadOperation, RestBinding, ToolBinding } from './definition.ts';
import type { OperationDocs, OperationExample } from './operation-docs.ts';
import type { FreeSale, Sale } from './sale.ts';

type Example = Omit<OperationExample, 'status'> & Partial<Pick<OperationExample, 'status'>>;

/** As `OperationDocs`. Examples answer 200 unless they say otherwise. */
interface DocsParts
  extends Pick<OperationDocs, 'answer'>, Partial<Omit<OperationDocs, 'answer' | 'examples'>> {
  examples: readonly [Example, ...Example[]];
}

export type DocsExamples = DocsParts['examples'];

const toDocs = (parts: DocsParts, mayBeSandbox: boolean): OperationDocs => {
  const [first, ...others] = parts.examples;
  const toExample = (one: Example): OperationExample => ({ status: 200, ...one });
  const examples = [toExample(first), ...others.map(toExample)] as const;
  return { description: null, wrong: null, headers: {}, mayBeSandbox, ...parts, examples };
};

export type ReadParts<Input, Needs> = Pick<
  ReadOperation<Input>,
  'name' | 'title' | 'description' | 'sells' | 'input' | 'output' | 'resource'
> &
  Partial<Pick<ReadOperation, 'group'>> &
  Pick<FreeSale<Input, Needs>, 'handle' | 'names'> &
  Pick<RestBinding, 'path'> &
  Partial<RestBinding> & {
    docs: DocsParts;
    /** Null: it is no tool. */
    tool?: Pick<ToolBinding, 'instruction' | 'main' | 'view'> | null;
  };

/**
 * Makes an operation on the account's own data, free of charge: by default one that reads with GET, and changes nothing.
 * Its answer is real by default.
 */
export const readOperation = <Input, Needs = Services>({
  name,
  title,
  description,
  sells,
  input,
  output,
  resource,
  group = 'generation',
  docs,
  tool = {},
  handle,
  names,
  ...rest
}: ReadParts<Input, Needs>): ReadOperation<Input, Needs> => ({
  name,
  title,
  description,
  group,
  input,
  output,
  ...(sells && { sells }),
  ...(resource && { resource }),
  docs: toDocs(docs, false),
  sale: { kind: 'free', handle, ...(names && { names }) },
  rest: { method: 'GET', query: [], validation: 'envelope', errors: [], ...rest },
  tool: tool === null ? null : { readOnly: true, idempotent: true, openWorld: false, ...tool },
});

type SoldParts<Input, Sold extends Sale<Input>> = Omit<
  Operation<Input, Sold>,
  'group' | 'rest' | 'tool' | 'docs'
> & {
  rest: Pick<RestBinding, 'path'> & Partial<RestBinding>;
  group?: Operation['group'];
  docs: DocsParts;
  /** Null: it is no tool. */
  tool?: Partial<ToolBinding> | null;
};

/** Makes an operation that is sold: by default one of generation, called with POST, and a tool. A sandbox may answer it. */
export const soldOperation = <Input, Sold extends Sale<Input>>({
  rest,
  docs,
  tool = {},
  ...parts
}: SoldParts<Input, Sold>): Operation<Input, Sold> => ({
  group: 'generation',
  ...parts,
  docs: toDocs(docs, true),
  rest: { method: 'POST', query: [], validation: 'envelope', errors: [], ...rest },
  tool: tool === null ? null : { readOnly: false, idempotent: false, openWorld: true, ...tool },
});
