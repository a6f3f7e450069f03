import type { DatabaseSync } from 'node:sqlite';
import { toFailure, type Reply, type Request, type RunCommand } from './messages.ts';

/**
 * Runs requests as one transaction, each in its own savepoint: a command that throws is undone and fails alone. When
 * this returns, the COMMIT is fsync'd, so send the replies only then. If the transaction itself fails, all replies are
 * failures and nothing was changed.
 */
export const groupCommit = (database: DatabaseSync, run: RunCommand): ((requests: Request[]) => Reply[]) => {
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const save = database.prepare('savepoint command');
  const release = database.prepare('release command');
  const undo = database.prepare('rollback to command');

  const runOne = (request: Request): Reply => {
    save.run();
    try {
      const value = run(request);
      release.run();
      return { id: request.id, value };
    } catch (error) {
      // SQLite rolls back the whole transaction by itself if the disk is full or fails.
      if (!database.isTransaction) throw error;
      undo.run();
      release.run();
      return toFailure(request.id, error);
    }
  };

  return (requests) => {
    try {
      begin.run();
      const replies = requests.map(runOne);
      commit.run();
      return replies;
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      return requests.map(({ id }) => toFailure(id, error));
    }
  };
};
