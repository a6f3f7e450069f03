import type { MountConfig } from './mount-settings.ts';

/** The name of a tool as callers know it. No name of a server has an underscore, so no two tools share one. */
export const publicName = (server: string, tool: string): string => `${server}__${tool}`;

/** The name of a tool for callers, without that of its server: the operator's, or else its own. */
export const shownName = ({ tools }: Pick<MountConfig, 'tools'>, tool: string): string =>
  tools.get(tool)?.name ?? tool;

/** Whether the operator lets a tool of a server be offered. */
export const mayOffer = ({ allow, hide }: Pick<MountConfig, 'allow' | 'hide'>, tool: string): boolean =>
  allow?.includes(tool) !== false && !hide.includes(tool);
