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
  const run = byName({ ...writeCommands(database), ping: () => null, probe: probeCommand(database) });
  const commitGroup = groupCommit(database, run);
  let waiting: Request[] = [];

  const runGroup = (): void => {
    const group = waiting.slice(0, maxGroup);
    waiting = waiting.slice(maxGroup);
    if (waiting.length > 0) setImmediate(runGroup);
    if (group.length > 0) send(commit(group));
  };
  // A probe that fails on a full disk must not take commands with it.
  const commit = (group: Request[]): Reply[] => {
    const commands = group.filter(({ name }) => name !== 'probe');
    const probes = group.filter(({ name }) => name === 'probe');
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

/** What a new job takes, by a wide margin. */
const probeBytes = 16_384;

/** Writes as much as a new job does, beside what the last probe wrote, so that the file needs the room as well. */
const probeCommand = (database: DatabaseSync): (() => null) => {
  const write = database.prepare('insert into write_probe (filler) values (zeroblob(?))');
  const remove = database.prepare('delete from write_probe where id < last_insert_rowid()');
  return () => {
    write.run(probeBytes);
    remove.run();
    return null;
  };
};
