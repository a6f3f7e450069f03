import type { DatabaseSync } from 'node:sqlite';
import { checkLedger } from '../check-ledger.ts';
import { requestRunner, sqliteEngine } from './engine.ts';
import { toFailure, type Reply, type Request } from './messages.ts';
import type { RequestHandler } from './writer.ts';

/**
 * Answers reads one after another, those of one message on one snapshot, because each would lock the file for itself. It
 * has everything that was committed before the message came.
 */
export const createReader = (database: DatabaseSync, send: (replies: Reply[]) => void): RequestHandler => {
  database.exec('pragma query_only = on');
  const trivialRead = database.prepare('select count(*) from sqlite_schema');
  const begin = database.prepare('begin');
  const commit = database.prepare('commit');
  const drive = sqliteEngine(database);
  const run = requestRunner('read', drive, {
    ping: () => trivialRead.get() && null,
    checkLedger: () => drive(checkLedger()),
  });
  const answer = ({ id, input }: Request): Reply => {
    try {
      return { id, output: { value: run(input) } };
    } catch (error) {
      return toFailure(id, error);
    }
  };
  const take = (requests: readonly Request[]): void => {
    begin.run();
    const replies = requests.map(answer);
    // SQLite ends the transaction by itself when the disk fails.
    if (database.isTransaction) commit.run();
    send(replies);
  };
  return { take, drain: () => {} };
};
