import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isJudgement } from '../api.ts';
import { costText, hasEnded, type JobAnswer } from '../parts/outcome.tsx';
import { JobLink } from '../parts/history.tsx';
import { Problem, readFields } from '../parts/parts.tsx';
import { readEvents } from '../read-events.ts';
import { useAction, useConsole, useLoad } from '../use-console.ts';
import { CodeSamples } from './code-samples.tsx';

interface Message {
  role: 'user' | 'assistant';
  content: string;
  /** The model that made it. */
  model?: string;
}

interface Chunk {
  id: string;
  choices: { delta: { content?: string | null } }[];
  error?: { message: string };
}

/** What the interface takes of a message. */
const toSent = ({ role, content }: Message) => ({ role, content });

/** Yields the answer so far, with its job, each time that a piece comes. Throws ApiError where it fails. */
const readAnswer = async function* (answer: Response) {
  let content = '';
  for await (const data of readEvents(answer)) {
    const { id, choices, error } = JSON.parse(data) as Chunk;
    if (error !== undefined) throw new ApiError(answer.status, error.message);
    content += choices[0]?.delta.content ?? '';
    yield { content, jobId: id.replace(/^chatcmpl-/, '') };
  }
};

const Cost = ({ jobId }: { jobId: string }) => {
  const { data } = useLoad<JobAnswer>(`v1/jobs/${jobId}`, { everyMs: 3_000, isLast: hasEnded });
  return (
    <p class="soft">
      {costText(data)} Job <JobLink id={jobId} />
    </p>
  );
};

const Messages = ({ messages, isBusy }: { messages: readonly Message[]; isBusy: boolean }) => (
  <ol class="chat" aria-live="polite" aria-busy={isBusy}>
    {messages.map(({ role, content, model }, index) => (
      <li key={index} class={role}>
        <strong>{model ?? 'You'}</strong>
        <p>{content}</p>
      </li>
    ))}
  </ol>
);

const path = '/v1/chat/completions';

/** A conversation with a model, whose answers arrive piece by piece. */
export const ChatTrial = ({ model }: { model: string }) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const [end, setEnd] = useState<{ jobId?: string; isRefused?: boolean }>({});
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);

  /** `giveBack` undoes what was sent, where no answer came. */
  const stream = async (asked: readonly Message[], giveBack: () => void): Promise<void> => {
    const stopping = new AbortController();
    stop.current = stopping;
    const body = { model, messages: asked.map(toSent), stream: true };
    let hasAnswer = false;
    try {
      const answer = await api.open(path.slice(1), { body, signal: stopping.signal });
      for await (const { content, jobId } of readAnswer(answer)) {
        hasAnswer ||= content !== '';
        setEnd({ jobId });
        setMessages([...asked, { role: 'assistant', content, model }]);
      }
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (!hasAnswer) giveBack();
      if (error instanceof ApiError && isJudgement(error.status)) setEnd({ isRefused: true });
      throw error;
    }
  };

  const send = (event: SubmitEvent): void => {
    const form = event.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem('text') as HTMLTextAreaElement;
    const { text = '' } = readFields(event);
    if (text === '') return;
    const asked = [...messages, { role: 'user', content: text } as const];
    setMessages(asked);
    setEnd({});
    form.reset();
    void run(() =>
      stream(asked, () => {
        setMessages(messages);
        field.value ||= text;
      }),
    );
  };

  return (
    <>
      <Messages messages={messages} isBusy={isBusy} />
      <Problem text={problem} />
      {end.isRefused && <p class="soft">Nothing was charged.</p>}
      {end.jobId !== undefined && !isBusy && <Cost jobId={end.jobId} />}
      <form class="ask" onSubmit={send}>
        <label class="field">
          <span>Your message</span>
          <textarea name="text" rows={3} required />
        </label>
        <div class="row">
          <button type="submit" class="main" disabled={isBusy}>
            Send
          </button>
          <button type="button" disabled={!isBusy} onClick={() => stop.current?.abort()}>
            Stop
          </button>
          <button type="button" disabled={isBusy} onClick={() => setMessages([])}>
            Begin anew
          </button>
        </div>
      </form>
      <CodeSamples
        path={path}
        method="chat.completions.create"
        body={{
          model,
          messages: messages.length === 0 ? [{ role: 'user', content: 'Hello' }] : messages.map(toSent),
        }}
      />
    </>
  );
};
