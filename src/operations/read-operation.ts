import type { Services } from './call.ts';
import type { ReadOperation, RestBinding, ToolBinding } from './definition.ts';
import type { OperationDocs } from './operation-docs.ts';
import type { FreeSale } from './sale.ts';

type ReadParts<Input, Needs> = Pick<
  ReadOperation<Input>,
  'name' | 'title' | 'description' | 'sells' | 'input' | 'output' | 'resource'
> &
  Pick<FreeSale<Input, Needs>, 'handle'> &
  Pick<RestBinding, 'path' | 'errors'> &
  Partial<Pick<RestBinding, 'query' | 'validation' | 'content'>> & {
    docs: Pick<OperationDocs, 'answer' | 'examples'> & Partial<OperationDocs>;
    /** Null: it is no tool. */
    tool?: Pick<ToolBinding, 'instruction' | 'main'> | null;
  };

/** Makes an operation that reads the account's own data with GET, and changes nothing. Its answer is real by default. */
export const readOperation = <Input, Needs = Services>({
  path,
  query = [],
  validation = 'envelope',
  content,
  errors,
  docs,
  tool = {},
  handle,
  ...parts
}: ReadParts<Input, Needs>): ReadOperation<Input, Needs> => ({
  ...parts,
  docs: { description: null, wrong: null, headers: {}, mayBeSandbox: false, ...docs },
  group: 'generation',
  sale: { kind: 'free', handle },
  rest: { method: 'GET', path, query, validation, errors, ...(content === undefined ? {} : { content }) },
  tool: tool === null ? null : { readOnly: true, idempotent: true, openWorld: false, ...tool },
});
