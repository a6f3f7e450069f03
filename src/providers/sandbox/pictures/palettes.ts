/** Sky from top to bottom, three layers of hills, the sun. Only hex, because the renderer reads fractional hsl() as black. */
const palettes = [
  { sky: ['#1b2a49', '#465c8b', '#f0a07c'], hills: ['#3d4f7c', '#2b3a63', '#182344'], sun: '#ffd9a0' },
  { sky: ['#0f3d3e', '#2c7873', '#e2d58b'], hills: ['#2f8577', '#1f6160', '#0d3b40'], sun: '#fff3c4' },
  { sky: ['#3b1c4a', '#8a3f78', '#ffb199'], hills: ['#7b3a72', '#562a5c', '#311640'], sun: '#ffe0c2' },
  { sky: ['#12305c', '#3a7ca5', '#d9e8e3'], hills: ['#4a86a3', '#2d6187', '#163a60'], sun: '#ffffff' },
  { sky: ['#4a1d1f', '#b0503c', '#f7c873'], hills: ['#a0493a', '#73302e', '#401a20'], sun: '#fff0b8' },
  { sky: ['#20264d', '#5a5aa6', '#c9b6e4'], hills: ['#6461ab', '#454487', '#262a5c'], sun: '#f8efff' },
] as const;

export type Palette = (typeof palettes)[number];

/** Picks a palette. `random` is from 0 to below 1. */
export const pickPalette = (random: number): Palette =>
  palettes[Math.floor(random * palettes.length)] ?? palettes[0];
