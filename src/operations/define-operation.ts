import type { Services } from './call.ts';
import type { Operation, ReadOperation, RestBinding, ToolBinding } from './definition.ts';
import type { OperationDocs } from './operation-docs.ts';
import type { FreeSale, Sale } from './sale.ts';

type ReadParts<Input, Needs> = Pick<
  ReadOperation<Input>,
  'name' | 'title' | 'description' | 'sells' | 'input' | 'output' | 'resource'
> &
  Pick<FreeSale<Input, Needs>, 'handle' | 'names'> &
  Pick<RestBinding, 'path'> &
  Partial<Pick<RestBinding, 'query' | 'validation' | 'content' | 'file' | 'errors'>> & {
    docs: Pick<OperationDocs, 'answer' | 'examples'> & Partial<OperationDocs>;
    /** Null: it is no tool. */
    tool?: Pick<ToolBinding, 'instruction' | 'main' | 'view'> | null;
  };

/** Makes an operation that reads the account's own data with GET, and changes nothing. Its answer is real by default. */
export const readOperation = <Input, Needs = Services>({
  path,
  query = [],
  validation = 'envelope',
  content,
  file,
  errors = [],
  docs,
  tool = {},
  handle,
  names,
  ...parts
}: ReadParts<Input, Needs>): ReadOperation<Input, Needs> => ({
  ...parts,
  docs: { description: null, wrong: null, headers: {}, mayBeSandbox: false, ...docs },
  group: 'generation',
  sale: { kind: 'free', handle, ...(names === undefined ? {} : { names }) },
  rest: {
    method: 'GET',
    path,
    query,
    validation,
    errors,
    ...(content === undefined ? {} : { content }),
    ...(file === undefined ? {} : { file }),
  },
  tool: tool === null ? null : { readOnly: true, idempotent: true, openWorld: false, ...tool },
});

type SoldParts<Input, Sold extends Sale<Input>> = Omit<
  Operation<Input, Sold>,
  'group' | 'rest' | 'tool' | 'docs'
> & {
  rest: Pick<RestBinding, 'path'> & Partial<RestBinding>;
  group?: Operation['group'];
  docs: Pick<OperationDocs, 'answer' | 'examples' | 'wrong'> & Partial<OperationDocs>;
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
  docs: { description: null, headers: {}, mayBeSandbox: true, ...docs },
  rest: { method: 'POST', query: [], validation: 'envelope', errors: [], ...rest },
  tool: tool === null ? null : { readOnly: false, idempotent: false, openWorld: true, ...tool },
});
