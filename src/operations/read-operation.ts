import type { ReadOperation, RestBinding, ToolBinding } from './definition.ts';
import type { FreeSale } from './sale.ts';

type ReadParts<Input> = Pick<
  ReadOperation<Input>,
  'name' | 'title' | 'description' | 'sells' | 'input' | 'output' | 'resource' | 'docs'
> &
  Pick<FreeSale<Input>, 'handle'> &
  Pick<RestBinding, 'path' | 'errors'> &
  Partial<Pick<RestBinding, 'query' | 'validation' | 'content'>> & {
    /** Null: it is no tool. */
    tool?: Pick<ToolBinding, 'instruction' | 'main'> | null;
  };

/** Makes an operation that reads the account's own data with GET, and changes nothing. */
export const readOperation = <Input>({
  path,
  query = [],
  validation = 'envelope',
  content,
  errors,
  tool = {},
  handle,
  ...parts
}: ReadParts<Input>): ReadOperation<Input> => ({
  ...parts,
  group: 'generation',
  sale: { kind: 'free', handle },
  rest: { method: 'GET', path, query, validation, errors, ...(content === undefined ? {} : { content }) },
  tool: tool === null ? null : { readOnly: true, idempotent: true, openWorld: false, ...tool },
});
