import type { FindForgotten } from './lead-source.ts';
export interface ForgottenPeople {
  find: FindForgotten;
  add(usernames: readonly string[]): Promise<number>;
  remove(usernames: readonly string[]): Promise<number>;
  count(): Promise<number>;
  read(): Promise<ForgottenSnapshot>;
}
export interface ForgottenSnapshot {
  ids: readonly string[];
  revision: number;
  includes(username: string): boolean;
}
