import { z } from 'zod';
import { readUsername } from '../../leads/query/read-username.ts';
import { usernameKey } from '../../leads/query/username-key.ts';

/** The command line takes more. */
const maxNames = 10_000;

const username = z
  .string()
  .max(10_000)
  .transform((text, context) => {
    const read = readUsername(text);
    if ('name' in read) return read.name;
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  });

export const peopleFields = {
  usernames: z
    .array(username)
    .min(1)
    .max(maxNames)
    .transform((names) => [...new Map(names.map((name) => [usernameKey(name), name])).values()])
    .describe('Their usernames, with or without the at-sign. At most 10,000.'),
};

/** The audit log must not keep the names of people who asked to be forgotten. */
export const loggedPeople = ({ usernames }: { usernames: readonly string[] }) => ({
  people: usernames.length,
});

export const leadErrors = ['leads_busy', 'leads_damaged', 'leads_failed', 'overloaded'] as const;
