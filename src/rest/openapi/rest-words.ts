import type { Operation } from '../../operations/operation.ts';

/** What operations do, where the words for models say how a tool is used. */
const operationTexts: Readonly<Record<string, string>> = {
  get_job:
    'State and result of a job of this account, whatever its kind. Poll it while status is queued or running. Result ' +
    'URLs of images are in data once status is done. Free.',
  get_response:
    'A response of this account. Poll it while status is in_progress. A failed one has error. Free.',
  create_video:
    'Begins a video from text and, if wanted, input images, videos and audio; priced by output second and resolution, ' +
    'charged only when it succeeds. Answers at once: poll get_video until it has ended. The content can be downloaded ' +
    'for 23 hours.',
  get_video:
    'State of a video of this account. Poll it while status is queued or in_progress. Once completed, its content can ' +
    'be downloaded until expires_at. Free.',
  get_video_content:
    'The bytes of a completed video, or of its last frame, whole or one range of them, until 23 hours after ' +
    'completion. Free.',
};

/** What an operation does, for those who call it over HTTP. */
export const operationText = ({ name, description }: Operation): string =>
  operationTexts[name] ?? description;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** A part of the document whose descriptions name operations by method and path; only tools are called by name. */
export const inRestWords = <T extends object>(part: T, operations: readonly Operation[]): T => {
  const calls = new Map(operations.map(({ name, rest }) => [name, `\`${rest.method} ${rest.path}\``]));
  const named = new RegExp(String.raw`\b(?:${[...calls.keys()].join('|')})\b`, 'g');
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        key,
        key === 'description' && typeof member === 'string'
          ? member.replace(named, (name) => calls.get(name) ?? name)
          : walk(member),
      ]),
    );
  };
  return walk(part) as T;
};
