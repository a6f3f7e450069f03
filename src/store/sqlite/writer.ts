import type { DatabaseSync } from 'node:sqlite';
import { groupCommit } from './group-commit.ts';
import { requestRunner, sqliteEngine } from './engine.ts';
import type { Reply, Request } from './messages.ts';

/** Limits how long the first command of a group waits for the last. */
const maxGroup = 512;

export interface RequestHandler {
  take(requests: readonly Request[]): void;
  /** Runs and answers all waiting requests. */
  drain(): void;
}

/**
 * Commits the writes that have arrived as one group. The port delivers all messages that came during the last fsync
 * before the next turn of the loop, so groups grow with the load.
 */
export const createWriter = (database: DatabaseSync, send: (replies: Reply[]) => void): RequestHandler => {
  const run = requestRunner('write', sqliteEngine(database), {
    ping: () => null,
    probe: probeCommand(database),
  });
  const commitGroup = groupCommit(database, run);
  let waiting: Request[] = [];

  const runGroup = (): void => {
    const group = waiting.slice(0, maxGroup);
    waiting = waiting.slice(maxGroup);
    if (waiting.length > 0) setImmediate(runGroup);
    if (group.length > 0) send(commit(group));
  };
  // A probe that fails on a full disk must not make other commands fail.
  const commit = (group: Request[]): Reply[] => {
    const commands = group.filter(({ input }) => input.name !== 'probe');
    const probes = group.filter(({ input }) => input.name === 'probe');
    return [
      ...(commands.length > 0 ? commitGroup(commands) : []),
      ...probes.flatMap((probe) => commitGroup([probe])),
    ];
  };

  return {
    take: (requests) => {
      if (waiting.length === 0) setImmediate(runGroup);
      for (const request of requests) waiting.push(request);
    },
    drain: () => {
      while (waiting.length > 0) {
        send(commit(waiting.slice(0, maxGroup)));
        waiting = waiting.slice(maxGroup);
      }
    },
  };
};

/** Far more than a new job needs. */
const probeBytes = 16_384;

/** Writes as much as a new job does, before it deletes the last probe's row, so that the file needs the space. */
const probeCommand = (database: DatabaseSync): (() => null) => {
  const write = database.prepare('insert into write_probe (filler) values (zeroblob(?))');
  const remove = database.prepare('delete from write_probe where id < last_insert_rowid()');
  return () => {
    write.run(probeBytes);
    remove.run();
    return null;
  };
};
