import type { DatabaseSync } from 'node:sqlite';
import { toFailure, type Reply, type Request, type RunCommand } from './messages.ts';

/**
 * Runs requests as one transaction. When this returns, the COMMIT is fsync'd, so send the replies only then. If a command
 * throws, the group is undone and runs again with a savepoint for each command, so that this one fails alone. If the
 * transaction itself fails, all replies are failures and nothing was changed.
 */
export const groupCommit = (database: DatabaseSync, run: RunCommand): ((requests: Request[]) => Reply[]) => {
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const save = database.prepare('savepoint command');
  const release = database.prepare('release command');
  const undo = database.prepare('rollback to command');

  const runFreely = ({ id, input }: Request): Reply => ({ id, output: { value: run(input) } });
  const runGuarded = (request: Request): Reply => {
    save.run();
    try {
      const reply = runFreely(request);
      release.run();
      return reply;
    } catch (error) {
      // SQLite rolls back the whole transaction by itself if the disk is full or fails.
      if (!database.isTransaction) throw error;
      undo.run();
      release.run();
      return toFailure(request.id, error);
    }
  };
  const commitAll = (requests: Request[], runOne: (request: Request) => Reply): Reply[] => {
    begin.run();
    const replies = requests.map(runOne);
    commit.run();
    return replies;
  };

  return (requests) => {
    let runOne = runFreely;
    for (;;)
      try {
        return commitAll(requests, runOne);
      } catch (error) {
        const mayRepeat = database.isTransaction && runOne === runFreely;
        if (database.isTransaction) database.exec('rollback');
        if (!mayRepeat) return requests.map(({ id }) => toFailure(id, error));
        runOne = runGuarded;
      }
  };
};
