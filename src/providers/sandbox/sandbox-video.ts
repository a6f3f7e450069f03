import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Clock } from '../../kit/clock.ts';
import { ProviderError } from '../provider-error.ts';
import type { VideoProvider, VideoReport } from '../video/video-provider.ts';
import { obeyTriggers, readTriggers, type SandboxTriggers } from './triggers.ts';
import { type FilmPlan, loopUrl, planFilm } from './video/plan-film.ts';

/** A stalling film fails after this time, so that it does not count against its account for hours. */
const stalledMs = 600_000;

/** A task. As JSON it is the task's name, so any process can go on with it, and nothing is stored. */
interface FilmTask {
  plan: FilmPlan;
  triggers: SandboxTriggers;
  /** Epoch milliseconds. */
  startedAt: number;
}

/** Makes playable films of a test picture with the word "SANDBOX", joined from stored seconds when they are fetched. */
export const createSandboxVideo = ({ clock }: { clock: Clock }): VideoProvider => ({
  start: async (request, { signal }) => {
    const plan = await planFilm(request, signal);
    const task: FilmTask = { plan, triggers: readTriggers(request.prompt), startedAt: clock.now() };
    return JSON.stringify(task);
  },
  report: async (name, { signal }) => {
    const { triggers, startedAt } = readTask(name);
    return obey(triggers, clock.now() - startedAt, signal);
  },
  fetch: async (name, part, { signal }) => {
    const { plan } = readTask(name);
    if (part === 'video') {
      const { joinLoops } = await import('./video/join-loops.ts');
      return content(contentTypes[plan.container], await joinLoops(plan, signal));
    }
    if (!plan.hasLastFrame) return null;
    return content('image/png', await readFile(loopUrl(`${plan.width}x${plan.height}.png`)));
  },
});

/** Reads a task by its name. Throws ProviderError for the names of earlier versions, which kept their tasks in files. */
const readTask = (name: string): FilmTask => {
  try {
    return JSON.parse(name) as FilmTask;
  } catch (cause) {
    throw new ProviderError('the sandbox has no such video', { failure: 'fatal', cause });
  }
};

/** Returns the report of a film that began `waitedMs` ago: it is done at once, unless the triggers ask for something else. */
const obey = async (
  triggers: SandboxTriggers,
  waitedMs: number,
  signal: AbortSignal,
): Promise<VideoReport> => {
  if (triggers.stalls)
    return waitedMs < stalledMs
      ? { state: 'pending', progress: 0 }
      : {
          state: 'failed',
          error: new ProviderError('the prompt asked the sandbox to stall', { failure: 'fatal' }),
        };
  if (waitedMs < triggers.delayMs)
    return { state: 'pending', progress: (100 * Math.max(waitedMs, 0)) / triggers.delayMs };
  try {
    await obeyTriggers({ ...triggers, delayMs: 0 }, signal);
    return { state: 'done' };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return { state: 'failed', error };
  }
};

const contentTypes = { mp4: 'video/mp4', mov: 'video/quicktime' };

const content = (contentType: string, bytes: Uint8Array) => ({ contentType, body: Readable.from([bytes]) });
