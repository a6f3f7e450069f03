import type { DatabaseSync } from 'node:sqlite';
import { byName, toFailure, type Reply, type Request } from './messages.ts';
import { readCommands } from './read-commands.ts';
import type { RequestHandler } from './writer.ts';

/** Answers reads one after another. Each sees everything that was committed before it began. */
export const createReader = (database: DatabaseSync, send: (replies: Reply[]) => void): RequestHandler => {
  database.exec('pragma query_only = on');
  const trivialRead = database.prepare('select count(*) from sqlite_schema');
  const run = byName({ ...readCommands(database), ping: () => trivialRead.get() && null });
  const answer = (request: Request): Reply => {
    try {
      return { id: request.id, value: run(request) };
    } catch (error) {
      return toFailure(request.id, error);
    }
  };
  return { take: (requests) => send(requests.map(answer)), drain: () => {} };
};
