import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';

/** What figures were measured on. */
export interface Machine {
  cores: number;
  model: string;
  memoryGiB: number;
  system: string;
  node: string;
  /** How many processes wanted a core in the minute before; above the number of cores times are too long. */
  loadAverage: number;
}

export const describeMachine = (): Machine => ({
  cores: availableParallelism(),
  model: cpus()[0]?.model.trim() ?? 'unknown',
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  system: `${type()} ${release()}`,
  node: process.version,
  loadAverage: Math.round((loadavg()[0] ?? 0) * 100) / 100,
});
