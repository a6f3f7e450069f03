import type { DatabaseSync } from 'node:sqlite';
import { checkLedger, type LedgerReport } from '../check-ledger.ts';
import { requestRunner, sqliteEngine } from './engine.ts';
import { toFailure, type Reply, type Request } from './messages.ts';
import type { RequestHandler } from './writer.ts';

/** Answers reads one after another. Each sees everything that was committed before it began. */
export const createReader = (database: DatabaseSync, send: (replies: Reply[]) => void): RequestHandler => {
  database.exec('pragma query_only = on');
  const trivialRead = database.prepare('select count(*) from sqlite_schema');
  const drive = sqliteEngine(database);
  const checkOnSnapshot = (): LedgerReport => {
    database.exec('begin');
    try {
      return drive(checkLedger());
    } finally {
      database.exec('commit');
    }
  };
  const run = requestRunner('read', drive, {
    ping: () => trivialRead.get() && null,
    checkLedger: checkOnSnapshot,
  });
  const answer = (request: Request): Reply => {
    try {
      return { id: request.id, value: run(request) };
    } catch (error) {
      return toFailure(request.id, error);
    }
  };
  return { take: (requests) => send(requests.map(answer)), drain: () => {} };
};
