import { setPriority } from 'node:os';
import type { FilmEncoding } from './encode-film.ts';

/** The reports of a film's process: the number of pictures made so far, and in the end the outcome. */
export type FilmReport = { made: number } | FilmOutcome;
export type FilmOutcome = { output: null } | { failure: string };

const niceness = 10;

/** When the gateway is no more. An orderly end would wait for the encoder. */
const leave = (): void => void process.kill(process.pid, 'SIGKILL');

const report = (told: FilmReport): void => {
  process.send?.(told, undefined, undefined, (error) => {
    if (error !== null) leave();
  });
};

const encode = async (task: FilmEncoding): Promise<FilmReport> => {
  try {
    const { encodeFilm } = await import('./encode-film.ts');
    await encodeFilm(task, (made) => report({ made }));
    return { output: null };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : 'unknown' };
  }
};

// A terminal or a service manager sends these to the gateway's processes too; the gateway decides when a film ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
process.on('disconnect', leave);
try {
  // Answering requests comes before filming; the encoder's threads inherit it.
  setPriority(niceness);
} catch {
  // Some services may not change priorities; filming works all the same.
}
process.on('message', (task: FilmEncoding) => void encode(task).then(report));
