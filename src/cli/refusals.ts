import { CommandError } from './command-error.ts';

export const noAccount = (id: string): CommandError =>
  new CommandError('account_not_found', `There is no account with id ${shown(id)}.`);

export const noKey = (id: string): CommandError =>
  new CommandError('key_not_found', `There is no key with id ${shown(id)}.`);

export const noJob = (id: string): CommandError =>
  new CommandError('job_not_found', `There is no job with id ${shown(id)}.`);

/** An id is a few characters; whatever else was typed there is cut. A whole key would be shown no further than its start. */
const shown = (id: string): string => JSON.stringify(id.length > 40 ? `${id.slice(0, 20)}…` : id);
