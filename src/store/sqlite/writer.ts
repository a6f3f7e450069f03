import type { DatabaseSync } from 'node:sqlite';
import { groupCommit } from './group-commit.ts';
import { byName, type Reply, type Request } from './messages.ts';
import { writeCommands } from './write-commands.ts';

/** Bounds how long the first command of a group waits for the last. */
const maxGroup = 512;

export interface RequestHandler {
  take(requests: Request[]): void;
  /** Answers what still waits. */
  drain(): void;
}

/**
 * Takes writes as they come and commits those that have gathered meanwhile as one group. The port hands over
 * all messages that came during the last fsync before the next turn of the loop, so load makes the groups.
 */
export const createWriter = (database: DatabaseSync, send: (replies: Reply[]) => void): RequestHandler => {
  const run = byName({ ...writeCommands(database), ping: () => null });
  const commitGroup = groupCommit(database, run);
  let waiting: Request[] = [];

  const runGroup = (): void => {
    const group = waiting.slice(0, maxGroup);
    waiting = waiting.slice(maxGroup);
    if (waiting.length > 0) setImmediate(runGroup);
    if (group.length > 0) send(commitGroup(group));
  };

  return {
    take: (requests) => {
      if (waiting.length === 0) setImmediate(runGroup);
      for (const request of requests) waiting.push(request);
    },
    drain: () => {
      while (waiting.length > 0) {
        send(commitGroup(waiting.slice(0, maxGroup)));
        waiting = waiting.slice(maxGroup);
      }
    },
  };
};
