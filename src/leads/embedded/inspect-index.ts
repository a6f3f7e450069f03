import { existsSync } from 'node:fs';
import { identityProblem, type IndexIdentity } from './index-identity.ts';
import { openIndex } from './open-index.ts';
import { isSealIntact } from './seal.ts';

/** What stands in `file`: the wanted index, none, or one that must be built anew and why. */
export type IndexState = { state: 'usable' } | { state: 'absent' } | { state: 'unusable'; reason: string };

/** Looks at the whole of `file`; synchronous. */
export const inspectIndex = (file: string, wanted: IndexIdentity): IndexState => {
  if (!existsSync(file)) return { state: 'absent' };
  if (!isSealIntact(file)) return { state: 'unusable', reason: 'it is damaged or was not finished' };
  const found = readIdentity(file);
  const reason = found === null ? 'it has an unknown format' : identityProblem(found, wanted);
  return reason === null ? { state: 'usable' } : { state: 'unusable', reason };
};

/** Null when the file is whole but no index that this version can open. */
const readIdentity = (file: string): IndexIdentity | null => {
  try {
    const index = openIndex(file);
    index.close();
    return index.identity;
  } catch {
    return null;
  }
};
