import type { z } from 'zod';

/** Adds to a refinement the issues that `schema` finds in the value at `path`. */
export const addIssues = (
  context: z.RefinementCtx,
  { schema, value, path = [] }: { schema: z.ZodType | undefined; value: unknown; path?: (string | number)[] },
): void => {
  const { error } = schema?.safeParse(value, { reportInput: true }) ?? {};
  for (const { path: inner, ...issue } of error?.issues ?? [])
    context.addIssue({ ...issue, path: [...path, ...inner] });
};
