import { AppError } from '../kit/errors.ts';

type Findable = 'account' | 'key' | 'job' | 'webhook' | 'payment' | 'refund' | 'entry' | 'audit';

/** Makes the refusal of an unknown id. Shortens the id, so that a key given in place of its id is not shown whole. */
export const notFound = (kind: Findable, id: string): AppError => {
  const shown = JSON.stringify(id.length > 40 ? `${id.slice(0, 20)}…` : id);
  return new AppError(`${kind}_not_found`, `There is no ${kind} with id ${shown}.`);
};

/** Returns `found`. Throws AppError `<kind>_not_found` if it is null. */
export const requireFound = <T>(found: T | null, kind: Findable, id: string): T => {
  if (found === null) throw notFound(kind, id);
  return found;
};
