import type { ReadOperation, RestBinding, ToolBinding } from './operation.ts';

type ReadParts<Input> = Pick<
  ReadOperation<Input>,
  'name' | 'title' | 'description' | 'sells' | 'input' | 'output' | 'resource' | 'docs' | 'handle'
> &
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
  ...parts
}: ReadParts<Input>): ReadOperation<Input> => ({
  ...parts,
  group: 'generation',
  sale: null,
  rest: { method: 'GET', path, query, validation, errors, ...(content === undefined ? {} : { content }) },
  tool: tool === null ? null : { readOnly: true, idempotent: true, openWorld: false, ...tool },
});
