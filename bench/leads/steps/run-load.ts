import { openBenchEngine } from '../engines/open-bench-engine.ts';
import { describeMachine } from '../measure/machine.ts';
import { withProcessFigures } from '../measure/process-figures.ts';
import type { LoadFigures, Step } from './step.ts';

export const runLoad = async ({
  engine: name,
  place,
}: Extract<Step, { kind: 'load' }>): Promise<LoadFigures> => {
  const machine = describeMachine();
  const engine = await openBenchEngine(name);
  const { result, figures } = await withProcessFigures(() => engine.load(place));
  const rowsPerSecond = Math.round(result.profiles / Math.max(0.001, figures.seconds));
  const cpuSeconds = Math.round((figures.cpuSeconds + (result.serverCpuSeconds ?? 0)) * 10) / 10;
  return { ...result, ...figures, cpuSeconds, rowsPerSecond, machine };
};
