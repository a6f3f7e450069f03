import type { BenchEngine, EngineName } from './engine.ts';

/** The engine of this name; its modules are loaded only now, so that no process carries another engine's. */
export const openBenchEngine = async (name: EngineName): Promise<BenchEngine> => {
  switch (name) {
    case 'embedded':
      return (await import('./embedded-engine.ts')).embeddedEngine;
    case 'postgres':
      return (await import('./postgres-engine.ts')).postgresEngine;
  }
};
