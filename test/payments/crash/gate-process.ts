import { openStoreAt } from '../../store/open-store-at.ts';
import type { GateAnswer, GateCommand, GateSettings } from './gate-commands.ts';
import { obey } from './obey-command.ts';
import { watchRequests, watchStore } from './steps.ts';

/**
 * A process with payment gates over a real store, that does what its parent tells it, and kills itself at the step
 * that its parent names. Its one argument is JSON of GateSettings; it ends with its parent.
 */
const settings: GateSettings = JSON.parse(process.argv[2] ?? '{}');
watchRequests();
const store = watchStore(await openStoreAt(settings.kind, settings.location));

const answer = (message: GateAnswer | null): void => {
  if (message === null) process.kill(process.pid, 'SIGKILL');
  else process.send?.(message);
};

process.on('message', (command: GateCommand) => {
  obey(store, command).then(answer, (error: unknown) =>
    answer({
      kind: 'broken',
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }),
  );
});
process.on('disconnect', () => process.exit());
