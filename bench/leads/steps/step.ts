import type { Access, BenchPlace, EngineName, LoadedProfiles } from '../engines/engine.ts';
import type { LoopDelay } from '../measure/loop-delay.ts';
import type { Machine } from '../measure/machine.ts';
import type { ClassFigures } from '../measure/measure-classes.ts';
import type { Throughput } from '../measure/measure-throughput.ts';
import type { ProcessFigures } from '../measure/process-figures.ts';

/** One part of a benchmark, run in a process of its own so that its memory and its caches are its own. */
export type Step =
  | { kind: 'load'; engine: EngineName; place: BenchPlace }
  | { kind: 'search'; engine: EngineName; access: Access; place: BenchPlace; plan: SearchPlan }
  | { kind: 'chats'; engine: EngineName; place: BenchPlace; plan: SearchPlan }
  | { kind: 'check'; engine: EngineName; place: BenchPlace; queriesPerClass: number }
  | { kind: 'remove'; engine: EngineName; place: BenchPlace };

export interface SearchPlan {
  /** Names of the classes to measure. */
  classes: readonly string[];
  queriesPerClass: number;
  warmPasses: number;
  classBudgetMs: number;
  /** Of the searches by many callers at the same time; 0 leaves them out. */
  throughputMs: number;
  callers: number;
}

export interface LoadFigures extends LoadedProfiles, ProcessFigures {
  rowsPerSecond: number;
  machine: Machine;
}

export interface SearchFigures {
  access: Access;
  /** From the call to open until searches are answered. */
  openMs: number;
  classes: ClassFigures[];
  /** None where searches run in the main thread itself. */
  loop: { idle: LoopDelay; oneCaller: LoopDelay; manyCallers: LoopDelay | null } | null;
  throughput: Throughput | null;
  /** Counts of matches, which are free, in the classes where they cost most; none where searches run in the main thread. */
  counts: ClassFigures[];
  /** Resident in this process: with the queries alone, then with the index open, after all searches, and at most. */
  memoryMiB: { before: number; opened: number; end: number; peak: number };
  machine: Machine;
}

export interface ChatFigures {
  /** Chats by a few callers. */
  alone: Throughput;
  /** The same at the same time as `hostile`. */
  beside: Throughput;
  /** Free counts of the matches of hostile searches, by many callers. */
  hostile: Throughput;
}

/** What a step tells when it is done. */
export interface StepResults {
  load: LoadFigures;
  search: SearchFigures;
  chats: ChatFigures;
  /** How many queries were compared, and those that were answered otherwise than by the reference. */
  check: { compared: number; different: string[] };
  remove: null;
}
