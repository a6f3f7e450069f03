import { DatabaseError } from 'pg';
import type { SqlValue, Statement } from '../statement.ts';

type AnyStatement = Statement<never, unknown>;

interface Runners {
  /** Runs a statement that gathers once for several commands. Resolves with the rows of each. */
  runGroup(statement: AnyStatement, group: SqlValue[][]): Promise<unknown[][]>;
  /** Runs it for one command, which waits as long as it must for locked rows. */
  runAlone(statement: AnyStatement, values: SqlValue[]): Promise<unknown[]>;
}

interface Call extends Pick<PromiseWithResolvers<unknown[]>, 'resolve' | 'reject'> {
  values: SqlValue[];
}

/** Limits how long the first command of a statement waits for the last. */
const maxGroup = 128;
/** Limits the memory of one statement. A group with this much text takes no further command. */
const maxGroupLength = 4_000_000;

/** The server or the connection ended (also as a pooler tells it), so the group may be committed. */
const isOutcomeUnknown = (code: string | undefined): boolean => /^(?:08|57P|58)/.test(code ?? '');
const lockNotAvailable = '55P03';

/**
 * Gathers the commands that wait for the same statement, while an earlier group of it runs. Each group is one statement
 * and one commit. If the server refuses a group, each of its commands runs again alone, so that only the one at fault fails,
 * or waits for a locked row.
 */
export const createGatherer = ({
  runGroup,
  runAlone,
}: Runners): ((statement: AnyStatement, values: SqlValue[]) => Promise<unknown[]>) => {
  const waiting = new Map<AnyStatement, Call[]>();

  const answer = async (statement: AnyStatement, calls: Call[]): Promise<void> => {
    try {
      const rows = await runGroup(
        statement,
        calls.map(({ values }) => values),
      );
      for (const [index, { resolve }] of calls.entries()) resolve(rows[index] ?? []);
    } catch (error) {
      const runsAgain =
        error instanceof DatabaseError &&
        !isOutcomeUnknown(error.code) &&
        (calls.length > 1 || error.code === lockNotAvailable);
      for (const { values, resolve, reject } of calls)
        if (runsAgain) runAlone(statement, values).then(resolve, reject);
        else reject(error);
    }
  };
  const answerAll = async (statement: AnyStatement, calls: Call[]): Promise<void> => {
    while (calls.length > 0) await answer(statement, calls.splice(0, groupSize(calls)));
    waiting.delete(statement);
  };

  return (statement, values) => {
    const { promise, ...settle } = Promise.withResolvers<unknown[]>();
    const calls = waiting.get(statement) ?? [];
    calls.push({ ...settle, values });
    if (!waiting.has(statement)) {
      waiting.set(statement, calls);
      // Commands that begin at the same moment, such as those that an earlier group has answered, go together.
      process.nextTick(() => void answerAll(statement, calls));
    }
    return promise;
  };
};

/** Counts the first calls that fit one statement: one or more. */
const groupSize = (calls: Call[]): number => {
  let length = 0;
  const isFull = ({ values }: Call, index: number): boolean => {
    if (index >= maxGroup || length >= maxGroupLength) return true;
    for (const value of values) if (typeof value === 'string') length += value.length;
    return false;
  };
  const full = calls.findIndex(isFull);
  return full === -1 ? calls.length : full;
};
