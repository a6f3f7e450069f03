import { openBenchEngine } from '../engines/open-bench-engine.ts';
import { runChats } from './run-chats.ts';
import { runCheck } from './run-check.ts';
import { runLoad } from './run-load.ts';
import { runSearch } from './run-search.ts';
import type { Step, StepResults } from './step.ts';

/* The process of one step: its last argument is the step, its one message the result. */
const run = async (step: Step): Promise<StepResults[Step['kind']]> => {
  switch (step.kind) {
    case 'load':
      return runLoad(step);
    case 'search':
      return runSearch(step);
    case 'chats':
      return runChats(step);
    case 'check':
      return runCheck(step);
    case 'remove': {
      await (await openBenchEngine(step.engine)).remove(step.place);
      return null;
    }
  }
};

const step: Step = JSON.parse(process.argv.at(-1) ?? 'null');
try {
  process.send?.({ result: await run(step) });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  if (error instanceof Error && error.cause instanceof Error)
    process.stderr.write(`because: ${error.cause.message}\n`);
  process.exitCode = 1;
}
process.disconnect?.();
