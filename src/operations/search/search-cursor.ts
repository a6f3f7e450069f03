import { z } from 'zod';

const form = /^(\d{1,15}):([^]{1,200})$/;

/** Reads a cursor, `FOLLOWERS:USERNAME` of the last result of the page before. */
export const searchCursor = z.string().transform((text, context) => {
  const [, followers, username] = form.exec(text) ?? [];
  if (username !== undefined) return { followers: Number(followers), username };
  context.addIssue('must be FOLLOWERS:USERNAME of the last result, such as 48200:coffee.with.ana');
  return z.NEVER;
});
